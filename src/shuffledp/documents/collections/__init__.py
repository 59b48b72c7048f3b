"""Collections in words: texts for people who ask and people who answer while a collection runs.

`collection_document` (parties, questions, dates, the promised guarantee), `sending_document` (what was sent, and how
far a collection is), `survey_document` (a survey that one command makes), `mix_document` (the host through which it
goes), `published_document` (a result that somebody else has signed).
"""
