"""Browser client of a collection: a page that asks the questions, randomizes the answers and seals them.

``js/`` holds its script as modules without a framework: `randomizers` (the same integers as here), `wire`, `sealing`
(with ``vendor/hpke.js``), `memory`, `sending`, `questions` and `page`. They lie in the package, so that an installed
package and a source tree find them in one place. Here, in reading order: `browser_randomizers` (tasks that it can
do), `bundle` (modules as one script), `page_words` (the page's words in several languages, from ``js/words/``),
`respondents_page` (the page of a collection, one file that anybody may serve), `link_codes` (its link as a QR code),
`printed_page`, `invitation_sheet` (a code for each
invited person, to print) and `invitation_mails`.
"""
