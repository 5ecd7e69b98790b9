"""Arguments with which the sweep calls NumPy's functions: a line a function, a value or more a parameter.

`x y` are matrices of the dtype under test and `v w` vectors of it, `S` is a square matrix, `T` a symmetric one, all of
that dtype too; `m` is a mask of the shape of `x`, `n` of that of `v`; `k` are positions. Values are separated by `;`,
the first one is that of a call with all parameters. `dtype=` and `out=` are not listed: every function that has them
is called with every dtype.
"""

from __future__ import annotations

import re

FUNCTIONS = """
all a=x axis=1;None;(0,1);-1 keepdims=True;False where=m
allclose a=x b=y rtol=0.5 atol=2 equal_nan=True
amax a=x axis=1;None;(0,1) keepdims=True initial=2;2.5 where=m
amin a=x axis=1;None;(0,1) keepdims=True initial=2 where=m
angle z=x deg=True
any a=x axis=1;None;(0,1) keepdims=True where=m
append arr=x;v values=y;w axis=0;None
apply_along_axis func1d=np.sum axis=0 arr=x
apply_over_axes func=np.sum a=x axes=[0]
arange start_or_stop=1;5 stop=7 step=2
argmax a=x axis=1;None keepdims=True
argmin a=x axis=1;None keepdims=True
argpartition a=x kth=1 axis=0;-1;None kind='introselect'
argsort a=x axis=0;-1;None kind='stable' stable=True
argwhere a=x
around a=x decimals=1;0;-1
array object=x;[v,w] copy=True;None order='C' ndmin=3
array_equal a1=x a2=y equal_nan=True
array_equiv a1=x a2=y
array_split ary=x;v indices_or_sections=2;[1,2] axis=0;1
asanyarray a=x;[v,w] order='C'
asarray a=x;[v,w] order='C'
asarray_chkfinite a=x;[v,w] order='C'
ascontiguousarray a=x;[v,w]
asfortranarray a=x
astype x=x copy=True;False device='cpu'
atleast_1d *arys=x|x,v
atleast_2d *arys=x|x,v
atleast_3d *arys=x|x,v
average a=x axis=1;None;0 weights=y returned=True;False keepdims=True
bartlett M=5
base_repr number=5 base=3 padding=1
binary_repr num=5 width=9
bincount x=k weights=v minlength=9
blackman M=5
block arrays=[[x,y],[y,x]]
broadcast_arrays *args=x,v
broadcast_shapes *args=(3,1),(1,4)
broadcast_to array=v;x shape=(2,3,4)
can_cast from_=np.int8 to=np.int16 casting='safe'
choose a=k%2 choices=[v,w] mode='clip'
clip a=x;v a_min=1;None;w a_max=4;None;4.5 min=2;None max=5;None
column_stack tup=(v,w);[x,y]
common_type *arrays=x,v
compress condition=[True,False,True] a=x axis=0;None
concat arrays=(x,y);[v,w];[x] axis=0;1;None
concatenate arrays=(x,y);[v,w];[x] axis=0;1;None
convolve a=v v=w mode='same';'valid'
copy a=x order='C';'K'
copyto dst=x src=y casting='unsafe';'same_kind' where=m
corrcoef x=x y=y rowvar=False;True
correlate a=v v=w mode='same';'full'
count_nonzero a=x axis=1;None keepdims=True
cov m=S y=S rowvar=False;True bias=True ddof=0 fweights=[1,2,1] aweights=[1,2,1.5]
cross a=x[:,:3] b=y[:,:3] axisa=0 axisb=0 axisc=0 axis=0;1
cumprod a=x axis=1;None;0
cumsum a=x axis=1;None;0
cumulative_prod x=x;v axis=1;0 include_initial=True
cumulative_sum x=x;v axis=1;0 include_initial=True
delete arr=v;x obj=1;[0,2] axis=0;None
diag v=x;v k=1;-1
diag_indices n=3 ndim=3
diag_indices_from arr=S
diagflat v=v;x k=1
diagonal a=x offset=1 axis1=1 axis2=0
diff a=x n=2;1;0 axis=0;1 prepend=y;0 append=y;1
digitize x=x bins=[1,3,5] right=True
dot a=x;v b=y.T;v
dsplit ary=x[:,:,None] indices_or_sections=1
dstack tup=(v,w);[x,y]
ediff1d ary=v;x to_end=w to_begin=w
einsum_path *operands='ij,jk',x,y.T
expand_dims a=x axis=0;(0,2);-1
extract condition=m arr=x
eye N=3 M=4 k=1 order='F'
fill_diagonal a=S val=v[0];7 wrap=True
fix x=x
flatnonzero a=x
flip m=x axis=0;None;(0,1)
fliplr m=x
flipud m=x
frombuffer buffer=b'abcdefgh' count=2 offset=1
full shape=(2,3);3 fill_value=v[0];2;w[:3] order='C' device='cpu'
full_like a=x fill_value=v[0];7;v order='C' subok=True shape=(2,4) device='cpu'
geomspace start=1;v[3] stop=8 num=4 endpoint=False axis=0
gradient f=x;v axis=0;(0,1) edge_order=2
hamming M=5
hanning M=5
histogram a=x bins=3;[0,2,5] range=(0,6) density=True weights=y
histogram2d x=v y=w bins=3;[2,3] range=[(0,6),(0,6)] density=True weights=v
histogram_bin_edges a=x bins=3 range=(0,6) weights=y
histogramdd sample=x bins=2 range=[(0,6)]*4 density=True weights=[1,2,3]
hsplit ary=x;v indices_or_sections=2;[1]
hstack tup=(v,w);[x,y];[v]
i0 x=x
identity n=3
imag val=x
indices dimensions=(2,3) sparse=True
inner a=x;v b=y;w
insert arr=v;x obj=1;[0,2] values=w[0];9 axis=0;None
interp x=x xp=[0,2,4] fp=[1,5,2];w[:3] left=-1 right=9 period=5
intersect1d ar1=v ar2=w assume_unique=True return_indices=True
isclose a=x b=y rtol=0.5 atol=1 equal_nan=True
iscomplex x=x
iscomplexobj x=x
isfortran a=x
isin element=x test_elements=w assume_unique=False invert=True kind='sort'
isneginf x=x
isposinf x=x
isreal x=x
isrealobj x=x
isscalar element=x
iterable y=x
ix_ *args=k,k
kaiser M=5 beta=14
kron a=v;x b=w;y
lexsort keys=(v,w) axis=0
linspace start=0;v stop=5;w num=4 endpoint=False retstep=True;False axis=0;-1 device='cpu'
logspace start=0;v[0] stop=2 num=4 endpoint=False base=3 axis=0
matrix_transpose x=x
max a=x axis=1;None;(0,1) keepdims=True initial=2;2.5 where=m
may_share_memory a=x b=y max_work=0
mean a=x axis=1;None;(0,1) keepdims=True where=m
median a=x axis=1;None;(0,1) overwrite_input=False keepdims=True
meshgrid *xi=v,w copy=True;False sparse=True indexing='ij'
min a=x axis=1;None;(0,1) keepdims=True initial=2 where=m
min_scalar_type a=x
moveaxis a=x source=0 destination=1
nan_to_num x=x copy=True;False nan=1.0 posinf=2.0 neginf=3.0
nanargmax a=x axis=1;None keepdims=True
nanargmin a=x axis=1;None keepdims=True
nancumprod a=x axis=1;None
nancumsum a=x axis=1;None
nanmax a=x axis=1;None;(0,1) keepdims=True initial=2 where=m
nanmean a=x axis=1;None;(0,1) keepdims=True where=m
nanmedian a=x axis=1;None;(0,1) overwrite_input=False keepdims=True
nanmin a=x axis=1;None;(0,1) keepdims=True initial=2 where=m
nanpercentile a=x q=40;[25,75] axis=1;None;(0,1) overwrite_input=False method='lower';'linear' keepdims=True
nanprod a=x axis=1;None keepdims=True initial=2 where=m
nanquantile a=x q=0.4;[0.25,0.75] axis=1;None overwrite_input=False method='lower';'linear' keepdims=True
nanstd a=x axis=1;None ddof=1 keepdims=True where=m mean=x.mean(1,keepdims=True) correction=1
nansum a=x axis=1;None keepdims=True initial=2 where=m
nanvar a=x axis=1;None ddof=1 keepdims=True where=m mean=x.mean(1,keepdims=True) correction=1
ndim a=x
nonzero a=x
ones shape=(2,3);3 order='F' device='cpu'
ones_like a=x order='C' subok=True shape=(2,2) device='cpu'
outer a=v;x b=w
packbits a=m axis=1 bitorder='little'
pad array=x;v pad_width=1;(1,2) mode='edge';'constant';'linear_ramp'
partition a=x kth=1 axis=0;None kind='introselect'
percentile a=x q=40;[25,75] axis=1;None;(0,1) overwrite_input=False method='lower';'linear' keepdims=True
permute_dims a=x axes=(1,0);None
piecewise x=x condlist=[m,~m] funclist=[1,2]
place arr=x mask=m vals=w
poly seq_of_zeros=v
polyadd a1=v a2=w
polyder p=v m=2
polydiv u=v v=w[:2]
polyfit x=np.arange(4.0) y=v deg=1 rcond=1e-9 full=False w=[1,2,1,2] cov=False
polyint p=v m=2;1 k=[1,2]
polymul a1=v a2=w
polysub a1=v a2=w
polyval p=v x=w;2
prod a=x axis=1;None keepdims=True initial=2;2.5 where=m
promote_types type1=np.int8 type2=np.float32
ptp a=x axis=1;None keepdims=True
put a=x ind=k v=w;3 mode='clip'
put_along_axis arr=x indices=k[None,:3].T values=5;w[:3,None] axis=1
putmask a=x mask=m values=y;3
quantile a=x q=0.4;[0.25,0.75] axis=1;None overwrite_input=False method='lower';'linear' keepdims=True
ravel a=x order='C';'F'
ravel_multi_index multi_index=(k,k) dims=(4,4) mode='wrap' order='F'
real val=x
real_if_close a=x tol=100
repeat a=x;v repeats=2;[1,0,2,1] axis=1;None
require a=x requirements=['C']
reshape a=x shape=(4,3);-1 order='F';'C' copy=True;None
resize a=x new_shape=(2,5)
result_type *arrays_and_dtypes=x,np.int8
roll a=x shift=1;(1,2) axis=0;(0,1);None
rollaxis a=x axis=1 start=0
roots p=v
rot90 m=x k=3 axes=(1,0)
round a=x decimals=1;0;-1
row_stack tup=(v,w)
searchsorted a=np.sort(v) v=x side='right' sorter=[0,1,2,3]
select condlist=[m,~m] choicelist=[x,y] default=5;v[0]
setdiff1d ar1=v ar2=w assume_unique=True
setxor1d ar1=v ar2=w assume_unique=True
shape a=x
shares_memory a=x b=y max_work=0
sinc x=x
size a=x axis=1;None
sort a=x axis=0;None kind='stable' stable=True
sort_complex a=v
split ary=x;v indices_or_sections=1;[1,2] axis=0
squeeze a=x[None];x[:,None,:] axis=0;None
stack arrays=(x,y);[v,w] axis=1;-1
std a=x axis=1;None;(0,1) ddof=1 keepdims=True where=m mean=x.mean(1,keepdims=True) correction=1
sum a=x axis=1;None;(0,1) keepdims=True initial=2;2.5 where=m
swapaxes a=x axis1=0 axis2=1
take a=x indices=k%3;1;[[0,1],[1,0]] axis=0;1;None mode='clip';'wrap'
take_along_axis arr=x indices=k[:3,None]%4 axis=1
tensordot a=x b=y axes=2;[[0],[0]]
tile A=v;x reps=2;(2,1)
trace a=x offset=1 axis1=1 axis2=0
transpose a=x axes=(1,0);None
trapezoid y=x;v x=v dx=0.5 axis=0;1
tri N=3 M=4 k=1
tril m=x k=1;-1
tril_indices n=3 k=1 m=4
tril_indices_from arr=S k=1
trim_zeros filt=v trim='f';'fb'
triu m=x k=1;-1
triu_indices n=3 k=1 m=4
triu_indices_from arr=S k=1
union1d ar1=v ar2=w
unique ar=x return_index=True return_inverse=True return_counts=True axis=0 equal_nan=False sorted=True
unique_all x=x
unique_counts x=x
unique_inverse x=x
unique_values x=x
unpackbits a=k.astype(np.uint8) axis=0 count=9 bitorder='little'
unravel_index indices=k shape=(3,4) order='F'
unstack x=x axis=1
unwrap p=x;v discont=4 axis=0 period=5;6.5
vander x=v N=3 increasing=True
var a=x axis=1;None;(0,1) ddof=1 keepdims=True where=m mean=x.mean(1,keepdims=True) correction=1
vdot a=x b=y
vsplit ary=x indices_or_sections=3;[1]
vstack tup=(v,w);[x,y];[v]
where condition=m x=x y=y
zeros shape=(2,3);3 order='F' device='cpu'
zeros_like a=x order='C' subok=True shape=(2,2) device='cpu'
linalg.cholesky a=T upper=True
linalg.cond x=S p=1;2
linalg.cross x1=x[:,:3] x2=y[:,:3] axis=0
linalg.det a=S
linalg.diagonal x=x offset=1
linalg.eig a=S
linalg.eigh a=T UPLO='U'
linalg.eigvals a=S
linalg.eigvalsh a=T UPLO='U'
linalg.inv a=S
linalg.lstsq a=x b=x[:,0];x rcond=1e-9
linalg.matmul x1=x x2=y.T
linalg.matrix_norm x=x keepdims=True ord=2;1
linalg.matrix_power a=S n=2;-1
linalg.matrix_rank A=x tol=0.5 hermitian=False rtol=0.1
linalg.matrix_transpose x=x
linalg.multi_dot arrays=[x,y.T,x]
linalg.norm x=x;v ord=1;None;2;np.inf axis=1;None;(0,1) keepdims=True
linalg.outer x1=v x2=w
linalg.pinv a=x rcond=1e-5 hermitian=False rtol=1e-5
linalg.qr a=x mode='complete';'r'
linalg.slogdet a=S
linalg.solve a=S b=v[:3];S
linalg.svd a=x full_matrices=False compute_uv=True;False hermitian=False
linalg.svdvals x=x
linalg.tensordot x1=x x2=y axes=2
linalg.tensorinv a=S ind=1
linalg.tensorsolve a=S b=v[:3] axes=(0,)
linalg.trace x=x offset=1
linalg.vecdot x1=x x2=y axis=0
linalg.vector_norm x=x axis=1;None keepdims=True ord=1;3
fft.fft a=x n=6;3 axis=0;-1 norm='ortho'
fft.fft2 a=x s=(2,5) axes=(1,0) norm='ortho'
fft.fftfreq n=5 d=0.5 device='cpu'
fft.fftn a=x s=(2,5) axes=(1,0) norm='ortho'
fft.fftshift x=x axes=0
fft.hfft a=x n=6 axis=0 norm='ortho'
fft.ifft a=x n=6 axis=0 norm='ortho'
fft.ifft2 a=x s=(2,5) axes=(1,0) norm='ortho'
fft.ifftn a=x s=(2,5) axes=(1,0) norm='ortho'
fft.ifftshift x=x axes=0
fft.ihfft a=x n=6 axis=0 norm='ortho'
fft.irfft a=x n=6 axis=0 norm='ortho'
fft.irfft2 a=x s=(2,5) axes=(1,0) norm='ortho'
fft.irfftn a=x s=(2,5) axes=(1,0) norm='ortho'
fft.rfft a=x n=6 axis=0 norm='ortho'
fft.rfft2 a=x s=(2,5) axes=(1,0) norm='ortho'
fft.rfftfreq n=5 d=0.5 device='cpu'
fft.rfftn a=x s=(2,5) axes=(1,0) norm='ortho'
"""

METHODS = """
all axis=1;None;(0,1) keepdims=True where=m
any axis=1;None keepdims=True where=m
argmax axis=1;None keepdims=True
argmin axis=1;None keepdims=True
argpartition kth=1 axis=0 kind='introselect'
argsort axis=0;None kind='stable' stable=True
astype order='C';'F' casting='unsafe';'same_kind' subok=True copy=False
byteswap inplace=False
clip min=1;None;v max=4;None;4.5
compress condition=[True,False,True] axis=0;None
conj
conjugate
copy order='C';'K'
cumprod axis=1;None
cumsum axis=1;None
diagonal offset=1 axis1=1 axis2=0
dot other=y.T
fill value=3;v[0]
flatten order='C';'F'
item *args=|3|1,2|(1,2)
max axis=1;None;(0,1) keepdims=True initial=2 where=m
mean axis=1;None;(0,1) keepdims=True where=m
min axis=1;None;(0,1) keepdims=True initial=2 where=m
nonzero
partition kth=1 axis=0 kind='introselect'
prod axis=1;None keepdims=True initial=2 where=m
put indices=k values=w;3 mode='clip'
ravel order='C';'F'
repeat repeats=2;[1,0,2,1] axis=1;None
reshape *shape=4,3|(4,3)|-1 order='F';'C' copy=True;None
round decimals=1;0;-1
searchsorted v=w side='right'
sort axis=0 kind='stable' stable=True
squeeze axis=None
std axis=1;None;(0,1) ddof=1 keepdims=True where=m mean=x.mean(1,keepdims=True) correction=1
sum axis=1;None;(0,1) keepdims=True initial=2;2.5 where=m
swapaxes axis1=0 axis2=1
take indices=k%3;1 axis=0;None mode='clip';'wrap'
tolist
trace offset=1 axis1=1 axis2=0
transpose *axes=|1,0|(1,0)|None
var axis=1;None;(0,1) ddof=1 keepdims=True where=m mean=x.mean(1,keepdims=True) correction=1
"""

NOT_CALLED = frozenset(
    """array2string array_repr array_str asmatrix bmat busday_count busday_offset datetime_as_string datetime_data
    format_float_positional format_float_scientific from_dlpack fromfile fromfunction fromiter frompyfunc fromregex
    fromstring genfromtxt get_include get_printoptions getbufsize geterr geterrcall info is_busday isdtype issubdtype
    load loadtxt mask_indices mintypecode nested_iters printoptions save savetxt savez savez_compressed
    set_printoptions setbufsize seterr seterrcall show_config show_runtime test typename empty
    empty_like einsum""".split()
)
"""Functions of NumPy's that the sweep leaves out: they read or write files, texts and dates, or set options; what
`empty` gives is left to chance; `einsum` takes its arguments in a form of its own."""

REFUSED = frozenset({"min_scalar_type", "real_if_close", "x.byteswap"})
"""What is refused by name where it cannot be captured: the dtype depends on the values, or on the machine."""

_OF_SOME = r"where=|initial=|mean=|correction=|, 2(, m)?\)$"
NO_DERIVATIVE = {
    name: re.compile(pattern)
    for name, pattern in {
        **dict.fromkeys("apply_along_axis apply_over_axes piecewise polydiv polymul trim_zeros spacing".split(), "."),
        **dict.fromkeys("asarray_chkfinite require setdiff1d setxor1d union1d intersect1d".split(), "."),
        **dict.fromkeys("unique unique_all unique_counts unique_inverse unique_values".split(), "."),
        **dict.fromkeys("roots poly linalg.eig linalg.eigvals x.byteswap".split(), "."),
        **dict.fromkeys("nanmax nanmin nanprod nansum nanmean nanvar nanstd".split(), _OF_SOME),
        **dict.fromkeys(("cumulative_sum", "cumulative_prod"), r"\((r|x\[0, 0\])\)$"),  # the op needs an array
        **dict.fromkeys(("tril", "triu", "histogramdd"), r"\(\[r, q\]\)$"),
        "pad": "linear_ramp",
        "linalg.svd": r"^((?!full_matrices=False).)*$",
    }.items()
}
"""Calls that no derivative is known of, by function and text; each says so when it is asked for one."""

NOT_OF_TENSORS = {
    "atleast_3d": re.compile("x,v"),
    "ravel": re.compile("'F'"),
    "reshape": re.compile("'F'"),
    "linalg.matrix_rank": re.compile("0, 0"),
}
"""Calls that are refused where they are given Tensors, besides those without a derivative."""
