"""Types of questions that people answer in a private column, one module for each type.

To be read in this order: `question` (what all have in common), `single_choice`, `blanketed_choice`, `number`, `bins`,
`pairs`, `vector`, `multi_select`, `open_answer`, `report_forms` (reports in files), and `question_kinds`, the registry.
A new type is a module beside these, and a line there.
"""
