"""Relayed walks of real reports: members pass reports on through a server that sees only who takes part.

In reading order. Fixed beforehand: `member_keys` (identity of a member), `directory` (list of members), `terms`
(contacts and lengths of letters). Steps of a member, without disk or network: `links`, `onion`, `sealed_hand_ins`
(three kinds of sealed messages), `attendance` (who was there), `hand_in_gate` (whether that is enough), `rounds`. A
member at work: `journal`, `member`, `folder_transport`, `http_transport`, `post_office_client`.

The server: `mailboxes` (letters on disk), `post_office`, `post_office_app`, `post_office_config`. The analyst:
`relay_release`. On one machine: `member_processes`, `relay_demonstration`.
"""
