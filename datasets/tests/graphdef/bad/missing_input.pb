

aPlaceholder

bIdentitygone:1