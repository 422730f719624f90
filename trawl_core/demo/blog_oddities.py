"""The pages of the news site on which crawlers stumble."""

from __future__ import annotations

from trawl_core.demo.content import Answer, redirect
from trawl_core.demo.pages import Layout
from trawl_core.demo.pdf_file import pdf_of

PDF = "/files/tide-table.pdf"
LOOP = ("/loop-a", "/loop-b")
FLAKY = "/webcam-notes"
DOWN = "/weather-station"
PRIVATE = "/private/notes"

BUSY = Answer(503, "text/plain", b"The webcam is busy, try again in a second.\n", (("Retry-After", "1"),), validators="none")

LETTERS = {
    # path → (declared charset, real charset, title, words, a phrase that survives only a right decoding)
    "/letters/zurich": (
        "iso-8859-1",
        "utf-8",
        "A letter from Zürich",
        "The lake is grey, the cafés are warm, and the trams arrive when the timetable says so. In the Grossmünster a choir was practising "
        "Händel with great naïveté. I had fondue for thirty-one francs and a moral lesson for nothing.",
        "the cafés are warm",
    ),
    "/letters/paris": (
        "windows-1252",
        "windows-1252",
        "A letter from Paris",
        "“Everything costs 5 €,” says the man on the bridge, and sells me a tin œuvre d’art – an Eiffel tower with a thermometer in it. "
        "At the flea market I saw our town’s old ferry bell; the dealer swears that it comes from a château.",
        "a tin œuvre d’art – an Eiffel tower",
    ),
    "/letters/lisbon": (
        "utf-8",
        "windows-1252",
        "A letter from Lisbon",
        "The hills are steep and the pastéis de nata are small, which is a fair balance. A fisherman named João showed me how they "
        "mend nets in Setúbal: with the left hand, and without looking. Não faz mal, he said when I dropped the needle.",
        "A fisherman named João",
    ),
}
TIDES = (
    "Tide table of the inner harbour",
    "Spring tides follow the new and the full moon by two days.",
    "High water reaches the lock forty minutes after the lighthouse.",
    "Boats drawing more than two metres wait for half flood.",
    "All heights are given above the lowest astronomical tide.",
)


def odd_answers(layout: Layout) -> dict[str, Answer]:
    answers = {path: _letter(layout, path) for path in LETTERS}
    answers[PDF] = Answer(content_type="application/pdf", body=pdf_of(TIDES[0], TIDES))
    answers[LOOP[0]] = redirect(LOOP[1], 302)
    answers[LOOP[1]] = redirect(LOOP[0], 302)
    answers[DOWN] = Answer(503, "text/plain", b"The weather station is being moved.\n", (("Retry-After", "1"),), validators="none")
    words = (
        "The webcam on the customs house turns once a minute from the lock to the lighthouse. Fog, gulls and the washing line of number "
        "nine are what it sees most often."
    )
    answers[FLAKY] = Answer(body=layout.page("Harbour webcam notes", f"<h1>Harbour webcam notes</h1>\n<p>{words}</p>").encode())
    answers[PRIVATE] = Answer(body=layout.page("Editors' notes", "<h1>Editors' notes</h1>\n<p>No robot should read this.</p>").encode())
    return answers


def _letter(layout: Layout, path: str) -> Answer:
    declared, real, title, words, _ = LETTERS[path]
    page = layout.page(title, f"<h1>{title}</h1>\n<p>{words}</p>").replace('<meta charset="utf-8">', f'<meta charset="{declared}">')
    return Answer(content_type=f"text/html; charset={declared}", body=page.encode(real), validators="last_modified")
