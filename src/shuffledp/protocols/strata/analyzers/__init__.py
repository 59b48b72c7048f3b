"""Analyzers of stratified views."""
