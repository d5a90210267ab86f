

aIdentityc

bIdentitya

cIdentityb