"""Main content: which blocks of a page it is, and which extractor reads it best. Models are data files beside this module.

They are trained by `python -m bench.train_content`; this package evaluates them with numpy alone.
"""
