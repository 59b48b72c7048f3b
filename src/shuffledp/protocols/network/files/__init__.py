"""Walks from files: graphs of people, and views that walks made."""
