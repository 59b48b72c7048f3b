"""Organizer of a survey that people answer by phone, on the organizer's machine: the command `survey`.

To be read in this order: `shuffledp.survey.survey_terms` (what is asked, and how much each answer may tell),
`survey_folder` (the files of a survey), `local_survey` (all parties on one laptop), `page_check` (whether people are
served the right page).
"""
