"""Analyzers of stratified views.

One file: `post_stratification`.
"""
