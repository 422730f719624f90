import pytest
from hypothesis import given
from hypothesis import strategies as st

from trawl_core.extract.charset import charset_parameter, decode, decode_pieces, meta_charset
from trawl_core.extract.encodings import decode_as, encoding_name

RUSSIAN = "Это проверка кодировки страницы, текст на русском языке. "
JAPANESE = "これは文字コードの確認用の文章です。"
CURLY = "He said “yes” — it costs 5€ today. Café."


def page(text, charset=None, padding=0):
    meta = f'<meta charset="{charset}">' if charset else ""
    return f"<html><head>{' ' * padding}{meta}<title>t</title></head><body><p>{text}</p></body></html>"


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("latin1", "windows-1252"),
        (" ISO-8859-1 ", "windows-1252"),
        ("us-ascii", "windows-1252"),
        ("UTF8", "utf-8"),
        ("gb2312", "gbk"),
        ("x-sjis", "shift_jis"),
        ("ks_c_5601-1987", "euc-kr"),
        ("iso-8859-9", "windows-1254"),
        ("latin2", "iso-8859-2"),
        ("koi8-r", "koi8-r"),
        ("tis-620", "windows-874"),
        ("x-mac-cyrillic", "x-mac-cyrillic"),
        ("iso-8859-8-i", "iso-8859-8-i"),
        ("utf-16", "utf-16le"),
        ("utf-7", None),
        ("iso-2022-kr", None),
        ("nonsense", None),
        ("", None),
        ("ütf-8", None),
    ],
)
def test_labels_choose_names(label, name):
    assert encoding_name(label) == name


@pytest.mark.parametrize(
    ("body", "declared", "charset", "source", "within"),
    [
        pytest.param(b"\xef\xbb\xbf" + CURLY.encode(), "iso-8859-1", "utf-8", "bom", CURLY, id="mark beats header"),
        pytest.param(b"\xff\xfe" + page(CURLY, "utf-8").encode("utf-16-le"), None, "utf-16le", "bom", CURLY, id="utf-16 mark"),
        pytest.param(b"\xfe\xff" + CURLY.encode("utf-16-be"), None, "utf-16be", "bom", CURLY, id="big-endian mark"),
        pytest.param(page(CURLY, "utf-8").encode("cp1252"), "ISO-8859-1", "windows-1252", "header", CURLY, id="header beats meta"),
        pytest.param(page(RUSSIAN, "windows-1251").encode("cp1251"), None, "windows-1251", "meta", RUSSIAN, id="meta"),
        pytest.param(page(JAPANESE, "shift_jis").encode("cp932"), None, "shift_jis", "meta", JAPANESE, id="meta shift_jis"),
        pytest.param(page(CURLY, "x-user-defined").encode("cp1252"), None, "windows-1252", "meta", CURLY, id="meta x-user-defined"),
        pytest.param(page(CURLY, "utf-16").encode(), None, "utf-8", "meta", CURLY, id="meta utf-16 means utf-8"),
        pytest.param(
            f'<?xml version="1.0" encoding="iso-8859-2"?><p>{"Příliš"}</p>'.encode("iso-8859-2"),
            None,
            "iso-8859-2",
            "xml",
            "Příliš",
            id="xml",
        ),
        pytest.param(b"<p>plain</p>", None, "utf-8", "default", "plain", id="ascii"),
        pytest.param(b"", None, "utf-8", "default", "", id="empty"),
        pytest.param(page(CURLY).encode(), None, "utf-8", "detected", CURLY, id="valid utf-8 undeclared"),
        pytest.param(page(CURLY).encode(), "bogus", "utf-8", "detected", CURLY, id="unknown label is no declaration"),
        pytest.param(page(CURLY).encode(), "latin1", "utf-8", "detected", CURLY, id="utf-8 declared latin-1"),
        pytest.param(page(RUSSIAN, "windows-1251").encode(), None, "utf-8", "detected", RUSSIAN, id="utf-8 with a wrong meta"),
        pytest.param(page(JAPANESE * 3).encode(), "gbk", "utf-8", "detected", JAPANESE, id="utf-8 declared gbk"),
        pytest.param(page(RUSSIAN * 3).encode("cp1251"), "utf-8", "windows-1251", "detected", RUSSIAN, id="windows-1251 declared utf-8"),
        pytest.param(page(CURLY).encode(), "utf-16le", "utf-8", "detected", CURLY, id="utf-8 declared utf-16"),
        pytest.param(
            page(RUSSIAN, "windows-1251", padding=2000).encode("cp1251"),
            None,
            "windows-1251",
            "detected",
            RUSSIAN,
            id="meta after 1,024 bytes",
        ),
        pytest.param(page(JAPANESE * 3).encode("iso2022_jp"), None, "iso-2022-jp", "detected", JAPANESE, id="escape sequences"),
        pytest.param(page(CURLY).encode()[:-30] + b"\xe2\x80", "utf-8", "utf-8", "header", "costs", id="cut inside a character"),
        pytest.param((RUSSIAN * 5).encode() + b"\xff" + RUSSIAN.encode(), "utf-8", "utf-8", "header", RUSSIAN, id="one damaged byte"),
        pytest.param(b"a \x81 \x93b\x94", "windows-1252", "windows-1252", "header", "a \x81 “b”", id="undefined byte is a control"),
    ],
)
def test_order_of_evidence(body, declared, charset, source, within):
    decoded = decode(body, declared)
    assert (decoded.charset, decoded.source) == (charset, source)
    assert within in decoded.text


@pytest.mark.parametrize(
    ("text", "codec", "charset"),
    [
        ("Datos de prueba: ñandú, ándale, ésta, índice, cargó, último", "cp1252", "windows-1252"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy, říká se to každým rokem znovu a znovu.", "iso-8859-2", "iso-8859-2"),
        ("thé glacé pour dix", "utf-8", "utf-8"),
    ],
)
def test_short_texts_are_detected(text, codec, charset):
    decoded = decode(text.encode(codec), None)
    assert (decoded.text, decoded.charset) == (text, charset)


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"<meta charset=utf-8>", "utf-8"),
        (b"<META CHARSET = 'KOI8-R' >", "koi8-r"),
        (b'<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">', "windows-1251"),
        (b'<meta content="text/html; charset=big5" http-equiv=content-type>', "big5"),
        (b'<meta content="text/html; charset=big5" name=x>', None),
        (b"<!-- <meta charset=big5> --><meta charset=gbk>", "gbk"),
        (b"<!-- <meta charset=big5>", None),
        (b'<p title="<meta charset=big5>"><meta charset=gbk>', "gbk"),
        (b"<meta charset=nonsense><meta charset=gbk>", "gbk"),
        (b"<metadata charset=big5>", None),
        (b"<meta charset", None),
        (b"<meta", None),
        (b"< meta charset=big5>", None),
    ],
)
def test_prescan(head, name):
    assert meta_charset(head) == name


KOREAN = "항구의 수위는 매일 바뀝니다. 강은 바다로 흐릅니다. "
CHINESE = "港口的水位每天都在变化。河流经过港口流入大海。"
GREEK = "Το ποτάμι κυλά προς τη θάλασσα και περνά από το λιμάνι. "
FRENCH = "La rivière très étroite passe près du café fermé cet été, où Hélène était allée. "
CZECH = "Příliš žluťoučký kůň úpěl ďábelské ódy, říká se to každým rokem. "


@pytest.mark.parametrize(
    ("text", "codec", "declared", "meta", "charset"),
    [
        (RUSSIAN, "cp1251", "iso-8859-1", None, "windows-1251"),
        (RUSSIAN, "cp1251", "iso-8859-1", "windows-1251", "windows-1251"),
        (RUSSIAN, "koi8-r", "windows-1251", None, "koi8-r"),
        (RUSSIAN, "cp1251", "koi8-r", None, "windows-1251"),
        (GREEK, "iso-8859-7", "latin1", None, "iso-8859-7"),
        (JAPANESE, "cp932", "iso-8859-1", "shift_jis", "shift_jis"),
        (JAPANESE, "cp932", "euc-jp", None, "shift_jis"),
        (JAPANESE, "euc_jp", "shift_jis", None, "euc-jp"),
        (CHINESE, "gbk", "latin1", None, "gb18030"),
        (KOREAN, "euc_kr", "latin1", None, "euc-kr"),
        (KOREAN, "euc_kr", None, None, "euc-kr"),
        (FRENCH, "cp1252", "windows-1251", None, "windows-1252"),
        (FRENCH, "cp1252", "utf-8", None, "windows-1252"),
        (CZECH, "cp1250", "iso-8859-1", "windows-1250", "windows-1250"),
        (FRENCH, "utf-16-le", None, None, "utf-16le"),
        (FRENCH, "utf-16-be", "utf-8", None, "utf-16be"),
    ],
)
def test_a_wrong_declaration_is_noticed(text, codec, declared, meta, charset):
    decoded = decode(page(text * 3, meta).encode(codec), declared)
    assert (decoded.charset, decoded.source) == (charset, "detected")
    assert text in decoded.text


@pytest.mark.parametrize(
    ("text", "codec", "declared"),
    [
        (RUSSIAN.upper(), "cp1251", "windows-1251"),
        (FRENCH, "cp1252", "iso-8859-1"),
        (CZECH, "cp1250", "windows-1250"),
        ("Café » » » ··· °°°° prix: 5€ ", "cp1252", "windows-1252"),
        ("The letters α and β, the word ἀρχή. ", "utf-8", "utf-8"),
    ],
)
def test_a_right_declaration_is_kept(text, codec, declared):
    decoded = decode(page(text * 3).encode(codec, "ignore"), declared)
    assert (decoded.charset, decoded.source) == (encoding_name(declared), "header")


@pytest.mark.parametrize("wrongly", ["cp1252", "latin-1"])
def test_utf8_encoded_twice_is_repaired(wrongly):
    text = FRENCH if wrongly == "cp1252" else RUSSIAN
    decoded = decode(page(text).encode().decode(wrongly).encode(), "utf-8")
    assert (decoded.charset, decoded.source) == ("utf-8", "repaired")
    assert text in decoded.text
    about_it = page("“Ã©” is an “é” read wrongly, “Ã¨” an “è” and “Ã§” a “ç”.").encode()
    assert decode(about_it, "utf-8").source == "header"


def test_markup_is_not_looked_for_in_plain_text():
    body = '<meta charset="windows-1251"> naïve “quotes”'.encode()
    assert decode(body, None, markup=False).charset == "utf-8"


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("text/html; charset=UTF-8", "UTF-8"),
        ('text/html;charset="utf-8"', "utf-8"),
        ("text/html; x=1; Charset = latin1 ;", "latin1"),
        ("text/html", None),
        (None, None),
    ],
)
def test_charset_parameter(value, label):
    assert charset_parameter(value) == label


@given(st.binary(), st.sampled_from([None, "utf-8", "latin1", "gbk", "utf-16", "shift_jis", "iso-2022-jp", "x-user-defined", "?"]))
def test_any_bytes_give_text(body, declared):
    decoded = decode(body, declared)
    assert isinstance(decoded.text, str)
    assert encoding_name(decoded.charset) is not None


@given(st.text())
def test_utf8_round_trip(text):
    body = text.encode("utf-8", "ignore")
    assert decode(body, "utf-8").text == body.decode().removeprefix("\ufeff")


@given(st.binary())
def test_cutting_a_body_never_changes_what_came_before(body):
    whole, _ = decode_as(body, "windows-1252")
    cut, _ = decode_as(body[:-1], "windows-1252")
    assert whole.startswith(cut)


def test_an_encoding_is_told_by_the_start_and_characters_are_cut_by_no_piece() -> None:
    text = "<p>größe €" * 90_000
    for name in ("utf-8", "utf-16", "cp1252", "gb18030"):
        body = text.encode(name)
        declared = None if name == "utf-16" else name
        assert "".join(decode_pieces([body[n : n + 1001] for n in range(0, len(body), 1001)], declared)) == text
