# A researcher: what is known of the loss from below and from above, as two numbers and as a picture.
set -eu
python -c 'import shuffledp as sdp; print(sdp.bracket(epsilon0=2, num_users=100_000, delta=1e-6))'
shuffledp account --epsilon0 2 --users 100000 --delta 1e-6 --figure bounds.svg
