"""Planning of split and mix: the number of messages, with a certificate."""
