from trawl_core.extract.links import find_links_in_text
from trawl_core.extract.requisites import Requisite
from trawl_core.urls.references import KnownLinks

URL = "http://site.test/dir/page.html"


def shown(html, known=()):
    found = find_links_in_text(html, URL, shown=KnownLinks(lambda url: url in known)).requisites
    return [(requisite.tag, requisite.url.removeprefix("http://site.test/dir/")) for requisite in found]


def test_every_element_that_loads_something():
    html = """<head><link rel="shortcut ICON" href=icon><link rel="alternate stylesheet" href=css><link rel=manifest href=manifest>
    <link rel=preload as=Image href=hero imagesrcset="hero1 1x, hero2 2x"><link rel=preload as=fetch href=data><link rel=modulepreload href=mod>
    <link rel=next href=next><link rel=canonical href=me><link rel=preconnect href=//cdn.test><script src=js></script><script>x</script></head>
    <body background=back><img src=a srcset="a1 1x, a2 2x"><picture><source srcset="b 10w, c 20w"><img src=a></picture>
    <img data-src=lazy data-srcset="lazy1 1x" src="data:image/gif;base64,R0lG"><video poster=still src=film><track src=words></video>
    <audio><source src=sound></audio><embed src=em><object data=ob></object><input type=IMAGE src=button><input src=none>
    <svg><image href=i xlink:href=j /></svg><table background=t><td background=u></table><a href=link><img src=thumb></a><iframe src=frame></iframe>"""
    assert shown(html) == [
        *[("link", name) for name in ("icon", "css", "manifest", "hero", "hero1", "hero2", "mod")],
        ("script", "js"),
        ("body", "back"),
        *[("img", name) for name in ("a", "a1", "a2")],
        *[("source", name) for name in ("b", "c")],
        *[("img", name) for name in ("lazy", "lazy1")],
        *[("video", name) for name in ("still", "film")],
        ("track", "words"),
        ("source", "sound"),
        ("embed", "em"),
        ("object", "ob"),
        ("input", "button"),
        ("image", "i"),
        ("image", "j"),
        ("table", "t"),
        ("td", "u"),
        ("img", "thumb"),
    ]


def test_references_are_resolved_against_the_base_and_told_once():
    html = (
        '<base href="/b/"><img src=" x.png#1 "><img src="/b/x.png"><img src="#top"><img src=""><img src="blob:x"><img src="http://["><img>'
    )
    assert shown(html) == [("img", "http://site.test/b/x.png")]


def test_what_is_known_is_left_out_also_by_its_reference():
    known = KnownLinks(lambda url: url.endswith("logo"))
    for _ in range(2):
        found = find_links_in_text("<img src=/logo><img src=new>", URL, shown=known).requisites
        assert found == (Requisite("http://site.test/dir/new", "img"),)


def test_a_page_tells_none_that_is_not_asked_for():
    assert find_links_in_text("<img src=a>", URL).requisites == ()
