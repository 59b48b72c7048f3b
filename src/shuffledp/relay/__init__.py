"""Relayed walks of real reports: members pass reports on through a server that sees only who takes part.

Read the files in this order: `member_keys` (identity of a member), `directory` (list of members, fixed beforehand).
"""
