"""What has no idea of ranking: arrays, names, checks, words, the version."""
