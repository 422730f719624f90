"""Items of every syntax in one schema: Product, Article, Organization, Event and BreadcrumbList with typed, normalised fields.

Reads: items of one page. Promises: an entity holds only what the page says, in one form; what is missing or wrong is a problem.
"""
