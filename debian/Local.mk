# debian
