"""The device in a browser: a page that asks the questions of a collection, randomizes and seals what is answered.

``js/`` is what runs there, as modules without a framework: `randomizers` (the same integers as here), `wire`, `sealing`
(with ``vendor/hpke.js``), `memory`, `sending`, `questions` and `page`. They lie in the package, so that an installed
one and a tree of sources find them in one place. Here, in reading order: `browser_randomizers` (what the browser can
do), `bundle` (modules as one script), `page_words` (what the page says, in several languages, from ``js/words/``),
`respondents_page` (the page of a collection, one file that anybody may serve), `link_codes` (its link as a QR code),
`invitation_sheet` (a code for each invited person, to print).
"""
