"""The stratified shuffler.

One file: `stratified`.
"""
