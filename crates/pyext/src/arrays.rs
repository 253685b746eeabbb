//! Integer arrays of NumPy: borrowed as matrices, copied as vectors, and new ones as results.

use std::mem::size_of;

use ciphermill_hmvp::MatrixSource;
use numpy::{
    PyArray1, PyArray2, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use rayon::prelude::*;
use zeroize::Zeroizing;

use crate::errors::{Class, Failure};
use crate::run::{Cancel, run};

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

/// Any integer array, borrowed: no element is copied, whatever its strides.
///
/// The array must not be changed during a computation. An unlucky write of another thread can change the result; it cannot
/// reach memory outside the array, which this value keeps alive at its place.
pub(crate) struct Integers {
    /// Keeps the elements alive. NumPy refuses to resize an array that has other references.
    _owner: Py<PyUntypedArray>,
    first: *const u8,
    shape: Vec<usize>,
    strides: Vec<isize>,
    element: Element,
}

// SAFETY: the elements are plain integers that are only read. Dropping the owner without the interpreter's lock is deferred by
// PyO3.
unsafe impl Send for Integers {}
// SAFETY: as above.
unsafe impl Sync for Integers {}

impl Integers {
    /// Borrows `object`, or the array that `numpy.asarray` makes of it; `what` names it in errors.
    ///
    /// # Errors
    /// If it is not an array, its elements are not integers, or one does not fit 64 bits with sign.
    pub(crate) fn new(object: &Bound<'_, PyAny>, what: &str) -> Result<Self, Failure> {
        let array = as_array(object, what)?;
        let array = match array.dtype().is_native_byteorder() {
            Some(false) => native_order(&array)?,
            _ => array,
        };
        let element = element(&array, what)?;
        // SAFETY: the array is alive; `data` is where its first element is.
        let first = unsafe { (*array.as_array_ptr()).fields.data }.cast_const().cast::<u8>();
        let (shape, strides) = (array.shape().to_vec(), array.strides().to_vec());
        let integers = Self { _owner: array.unbind(), first, shape, strides, element };
        integers.require_signed(what)?;
        Ok(integers)
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    pub(crate) fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// An error unless every unsigned 64-bit element is below 2^63.
    fn require_signed(&self, what: &str) -> Result<(), Failure> {
        if self.element != Element::U64 {
            return Ok(());
        }
        let mut greatest = 0;
        self.for_each_row(|row, len, stride| {
            // SAFETY: the row is of the array.
            unsafe { for_each::<u64>(row, len, stride, |x| greatest = x.max(greatest)) }
        });
        if greatest <= i64::MAX as u64 {
            return Ok(());
        }
        let message = format!("{what} has the entry {greatest}; use {} to {}", i64::MIN, i64::MAX);
        Err(Failure::new(Class::Range, message))
    }

    /// Calls `visit` with the address, length and stride of every row along the last axis, in C order.
    fn for_each_row(&self, mut visit: impl FnMut(*const u8, usize, isize)) {
        let Some((&len, outer)) = self.shape.split_last() else {
            return visit(self.first, 1, 0);
        };
        let stride = self.strides[outer.len()];
        let mut index = vec![0usize; outer.len()];
        if self.len() == 0 {
            return;
        }
        loop {
            let offset: isize = index.iter().zip(&self.strides).map(|(&i, &stride)| i as isize * stride).sum();
            visit(self.first.wrapping_offset(offset), len, stride);
            // The next index, the last axis first.
            let Some(axis) = (0..outer.len()).rev().find(|&axis| index[axis] + 1 < outer[axis]) else { return };
            index[axis] += 1;
            index[axis + 1..].fill(0);
        }
    }

    /// All elements in C order.
    pub(crate) fn to_vec(&self) -> Zeroizing<Vec<i64>> {
        let mut out = Zeroizing::new(vec![0i64; self.len()]);
        let mut rest = out.as_mut_slice();
        self.for_each_row(|row, len, stride| {
            let (here, after) = std::mem::take(&mut rest).split_at_mut(len);
            self.widen(row, stride, here);
            rest = after;
        });
        out
    }

    /// Column `column` of a matrix.
    pub(crate) fn column(&self, column: usize) -> Zeroizing<Vec<i64>> {
        assert!(self.shape.len() == 2 && column < self.shape[1], "a column of a matrix");
        let mut out = Zeroizing::new(vec![0i64; self.shape[0]]);
        self.widen(self.first.wrapping_offset(column as isize * self.strides[1]), self.strides[0], &mut out);
        out
    }

    /// The elements from `first` on in steps of `stride` bytes.
    fn widen(&self, first: *const u8, stride: isize, out: &mut [i64]) {
        // SAFETY: the callers name elements of the array only.
        unsafe {
            match self.element {
                Element::I8 => widen::<i8>(first, stride, out, i64::from),
                Element::I16 => widen::<i16>(first, stride, out, i64::from),
                Element::I32 => widen::<i32>(first, stride, out, i64::from),
                Element::I64 => widen::<i64>(first, stride, out, |x| x),
                Element::U8 => widen::<u8>(first, stride, out, i64::from),
                Element::U16 => widen::<u16>(first, stride, out, i64::from),
                Element::U32 => widen::<u32>(first, stride, out, i64::from),
                // `require_signed` has looked at each.
                Element::U64 => widen::<u64>(first, stride, out, |x| x as i64),
            }
        }
    }
}

/// Calls `visit` with every element of a row.
///
/// # Safety
/// `len` elements of type `T` must be readable from `first` on in steps of `stride` bytes.
unsafe fn for_each<T: Copy>(first: *const u8, len: usize, stride: isize, mut visit: impl FnMut(T)) {
    for index in 0..len {
        // SAFETY: as the caller promises; elements need not be aligned.
        visit(unsafe { first.wrapping_offset(index as isize * stride).cast::<T>().read_unaligned() });
    }
}

/// Widens the elements of a row.
///
/// # Safety
/// As [`for_each`], for as many elements as `out` has places.
unsafe fn widen<T: Copy>(first: *const u8, stride: isize, out: &mut [i64], widen: impl Fn(T) -> i64) {
    let step = size_of::<T>() as isize;
    // A constant stride lets the compiler use vectors.
    let stride = if stride == step { step } else { stride };
    if stride == step {
        for (index, out) in out.iter_mut().enumerate() {
            // SAFETY: as the caller promises.
            *out = widen(unsafe { first.cast::<T>().wrapping_add(index).read_unaligned() });
        }
        return;
    }
    for (index, out) in out.iter_mut().enumerate() {
        // SAFETY: as the caller promises.
        *out = widen(unsafe { first.wrapping_offset(index as isize * stride).cast::<T>().read_unaligned() });
    }
}

fn element(array: &Bound<'_, PyUntypedArray>, what: &str) -> Result<Element, Failure> {
    let dtype = array.dtype();
    Ok(match (dtype.kind(), dtype.itemsize()) {
        (b'i', 1) => Element::I8,
        (b'i', 2) => Element::I16,
        (b'i', 4) => Element::I32,
        (b'i', 8) => Element::I64,
        (b'u', 1) | (b'b', 1) => Element::U8,
        (b'u', 2) => Element::U16,
        (b'u', 4) => Element::U32,
        (b'u', 8) => Element::U64,
        (b'O', _) => return Err(objects(what)),
        _ => {
            let message = format!("{what} has the dtype {dtype}; use integers, after scaling and rounding if need be");
            return Err(Failure::new(Class::Dtype, message));
        }
    })
}

/// What NumPy makes of integers beyond 64 bits and of other objects.
fn objects(what: &str) -> Failure {
    let message = format!("{what} has the dtype object; use integers from {} to {}", i64::MIN, i64::MAX);
    Failure::new(Class::Dtype, message)
}

/// A shape in the form of NumPy's: (5, 7) or (5,).
pub(crate) fn shape(shape: &[usize]) -> String {
    let axes: Vec<String> = shape.iter().map(usize::to_string).collect();
    match axes.as_slice() {
        [only] => format!("({only},)"),
        axes => format!("({})", axes.join(", ")),
    }
}

/// `object` as an array; `what` names it in errors.
pub(crate) fn as_array<'py>(object: &Bound<'py, PyAny>, what: &str) -> Result<Bound<'py, PyUntypedArray>, Failure> {
    static ASARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if let Ok(array) = object.cast::<PyUntypedArray>() {
        return Ok(array.clone());
    }
    let py = object.py();
    let asarray = ASARRAY.import(py, "numpy", "asarray")?;
    let array = asarray.call1((object,)).map_err(|error| {
        // Rows of different lengths, for example.
        if error.is_instance_of::<PyValueError>(py) {
            Failure::parameter(format!("{what} is not an array: {error}"))
        } else {
            error.into()
        }
    })?;
    Ok(array.cast_into::<PyUntypedArray>().map_err(PyErr::from)?)
}

fn native_order<'py>(array: &Bound<'py, PyUntypedArray>) -> Result<Bound<'py, PyUntypedArray>, Failure> {
    let dtype = array.dtype().call_method1("newbyteorder", ("=",))?;
    Ok(array.call_method1("astype", (dtype,))?.cast_into::<PyUntypedArray>().map_err(PyErr::from)?)
}

/// A borrowed matrix whose reader ends when its caller has gone.
pub(crate) struct Rows<'a> {
    matrix: &'a Integers,
    cancel: &'a Cancel,
}

impl<'a> Rows<'a> {
    /// The caller has checked that there are two axes.
    pub(crate) fn new(matrix: &'a Integers, cancel: &'a Cancel) -> Self {
        assert_eq!(matrix.shape.len(), 2, "a matrix");
        Self { matrix, cancel }
    }
}

impl MatrixSource for Rows<'_> {
    fn rows(&self) -> usize {
        self.matrix.shape[0]
    }

    fn cols(&self) -> usize {
        self.matrix.shape[1]
    }

    fn read_row(&self, row: usize, out: &mut [i64]) {
        self.cancel.check();
        let Integers { shape, strides, first, .. } = self.matrix;
        assert!(row < shape[0] && out.len() == shape[1], "row {row} of a matrix of shape {shape:?}");
        self.matrix.widen(first.wrapping_offset(row as isize * strides[0]), strides[1], out);
    }
}

/// A new array of shape (m,), of 64-bit integers or, if `wide`, of Python's.
pub(crate) fn integers(py: Python<'_>, values: Vec<i128>, wide: bool) -> PyResult<Bound<'_, PyAny>> {
    if !wide {
        return Ok(vector(py, values.into_iter().map(|x| x as i64).collect()));
    }
    let objects = values.into_iter().map(|x| Ok(x.into_pyobject(py)?.into_any().unbind()));
    Ok(PyArray1::from_vec(py, objects.collect::<PyResult<Vec<Py<PyAny>>>>()?).into_any())
}

/// A new array of shape (m,).
pub(crate) fn vector(py: Python<'_>, values: Vec<i64>) -> Bound<'_, PyAny> {
    PyArray1::from_vec(py, values).into_any()
}

/// A new array of shape (m, k) with these k columns of m entries.
pub(crate) fn columns<'py>(py: Python<'py>, columns: &[Vec<i64>]) -> PyResult<Bound<'py, PyAny>> {
    let rows = columns.first().map_or(0, Vec::len);
    let array = PyArray2::<i64>::zeros(py, [rows, columns.len()], false);
    {
        let mut out = array.readwrite();
        let mut out = out.as_array_mut();
        for (mut place, column) in out.columns_mut().into_iter().zip(columns) {
            for (place, &value) in place.iter_mut().zip(column) {
                *place = value;
            }
        }
    }
    Ok(array.into_any())
}

/// The product of a matrix of integers and a vector in binary64. The sums have one order on every machine, so that results of
/// different back ends can be compared bit by bit.
#[pyfunction]
pub(crate) fn fixed_order_product<'py>(
    py: Python<'py>,
    matrix: &Bound<'py, PyAny>,
    vector: PyReadonlyArray1<'py, f64>,
) -> Result<Bound<'py, PyArray1<f64>>, Failure> {
    let matrix = Integers::new(matrix, "the matrix")?;
    let vector = vector.as_array().to_vec();
    let [rows, columns] = *matrix.shape() else {
        return Err(Failure::parameter(format!(
            "an array of shape {} is not a matrix; use two axes",
            self::shape(matrix.shape())
        )));
    };
    if vector.len() != columns {
        let message = format!("a vector of {} entries does not fit the matrix; use {columns} entries", vector.len());
        return Err(Failure::parameter(message));
    }
    let sums = run(py, FIXED_ORDER_US * matrix.len() as f64, move |cancel| {
        let one = |row: usize, entries: &mut Vec<i64>| {
            Rows::new(&matrix, cancel).read_row(row, entries);
            fixed_order_sum(entries, &vector)
        };
        let sums = (0..rows).into_par_iter().map_init(|| vec![0; columns], |entries, row| one(row, entries));
        Ok(sums.collect())
    })?;
    Ok(PyArray1::from_vec(py, sums))
}

/// Estimated microseconds of a term of such a product.
const FIXED_ORDER_US: f64 = 0.000_5;

/// Σ x_i·y_i: lane i mod 8 first, then the lanes from the first to the last.
fn fixed_order_sum(entries: &[i64], vector: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let (whole, rest) = (entries.as_chunks::<8>(), vector.as_chunks::<8>());
    for (entries, values) in whole.0.iter().zip(rest.0) {
        for lane in 0..8 {
            lanes[lane] += entries[lane] as f64 * values[lane];
        }
    }
    for (lane, (&entry, &value)) in whole.1.iter().zip(rest.1).enumerate() {
        lanes[lane] += entry as f64 * value;
    }
    lanes.iter().sum()
}
