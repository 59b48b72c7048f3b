"""Organizer of a survey that people answer by phone, on the organizer's machine: the command `survey`.

In reading order: `shuffledp.survey.survey_terms` (what is asked, and how much each answer may tell), `survey_folder`
(the files of a survey), `local_survey` (all parties on one laptop), `mix_survey` (a mix of another operator) over
`registration`, `mix_client` and `invitation_folder`; `page_check` (whether people are served the right page).
"""
