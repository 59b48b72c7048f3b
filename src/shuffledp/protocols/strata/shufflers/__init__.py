"""The stratified shuffler."""
