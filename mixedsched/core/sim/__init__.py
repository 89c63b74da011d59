"""Page loads in virtual time: rung `pipe` is an ideal paced pipe, rung `stack` two real QUIC connections over a link."""
