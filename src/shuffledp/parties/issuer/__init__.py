"""Issuer of a collection: one signed token for each invited person, without seeing the token.

In reading order: `invitations` (one for each person), `invited_lists` (files of them), `issuer_store` (which were
used), `issuer_app` (all over HTTP).
"""
