# profile
