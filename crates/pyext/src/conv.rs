//! Convolutions of encrypted images with plain kernels.

use std::sync::Arc;

use ciphermill_bfv::SecretKey;
use ciphermill_bfv::ciphertext::Ciphertext;
use ciphermill_hmvp::conv2d::{
    Conv2dPlan as Plan, Conv2dRequest, ConvKernels, ConvShape, EncryptedConvolution as Output, EncryptedImage as Image,
};
use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_math::Isa;
use numpy::PyArrayMethods;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::arrays::{self, Integers};
use crate::errors::Failure;
use crate::run::run;
use crate::secrets::not_pickled;

/// Estimated microseconds of encrypting or decrypting one ciphertext.
const CIPHERTEXT_US: f64 = 300.0;

/// Estimated microseconds of a product of a plaintext and a ciphertext.
const PRODUCT_US: f64 = 20.0;

/// The agreement between the client and the server of a convolution.
#[pyclass(frozen, module = "ciphermill")]
pub(crate) struct Conv2dPlan {
    plan: Arc<Plan>,
}

/// The owner of a key set: encrypts images and decrypts outputs.
#[pyclass(frozen, module = "ciphermill")]
pub(crate) struct Conv2dClient {
    plan: Arc<Plan>,
    key: Arc<SecretKey>,
}

/// Kernels in the form in which they multiply.
#[pyclass(frozen, module = "ciphermill")]
pub(crate) struct PreparedKernels {
    plan: Arc<Plan>,
    kernels: Arc<ConvKernels>,
}

/// An encrypted image.
#[pyclass(frozen, module = "ciphermill")]
pub(crate) struct EncryptedImage {
    plan: Arc<Plan>,
    image: Arc<Image>,
}

/// An encrypted convolution.
#[pyclass(frozen, module = "ciphermill")]
pub(crate) struct EncryptedConvolution {
    plan: Arc<Plan>,
    output: Arc<Output>,
}

/// An array of integers of one shape.
fn of_shape(array: &Bound<'_, PyAny>, what: &str, shape: &[usize]) -> Result<Integers, Failure> {
    let integers = Integers::new(array, what)?;
    if integers.shape() == shape {
        return Ok(integers);
    }
    Err(Failure::parameter(format!("{what} of shape {:?} does not fit the plan; use {shape:?}", integers.shape())))
}

#[pymethods]
impl Conv2dPlan {
    #[new]
    #[pyo3(signature = (image, kernels, *, stride=1, padding=0, kernel_bits=8, image_bits=8))]
    fn new(
        py: Python<'_>,
        image: (usize, usize, usize),
        kernels: (usize, usize, usize),
        stride: usize,
        padding: usize,
        kernel_bits: u32,
        image_bits: u32,
    ) -> Result<Self, Failure> {
        let (channels, height, width) = image;
        let (kernels, kernel_height, kernel_width) = kernels;
        let shape = ConvShape { channels, height, width, kernels, kernel_height, kernel_width, stride, padding };
        let request = Conv2dRequest { kernel_bits, image_bits, ..Conv2dRequest::new(shape) };
        let plan = run(py, f64::INFINITY, move |_| Ok(Plan::new(&request, Isa::current())?))?;
        Ok(Self { plan: Arc::new(plan) })
    }

    /// The shape (C, H, W) of an image.
    #[getter]
    fn image_shape(&self) -> (usize, usize, usize) {
        let shape = self.plan.shape();
        (shape.channels, shape.height, shape.width)
    }

    /// The shape (M, C, h, w) of the kernels.
    #[getter]
    fn kernels_shape(&self) -> (usize, usize, usize, usize) {
        let shape = self.plan.shape();
        (shape.kernels, shape.channels, shape.kernel_height, shape.kernel_width)
    }

    /// The shape (M, H', W') of the output.
    #[getter]
    fn output_shape(&self) -> (usize, usize, usize) {
        let shape = self.plan.shape();
        (shape.kernels, shape.output_height(), shape.output_width())
    }

    #[getter]
    fn log2_failure(&self) -> f64 {
        self.plan.log2_failure()
    }

    /// New keys. No key is needed to multiply.
    fn keygen(&self, py: Python<'_>) -> Result<Conv2dClient, Failure> {
        let plan = self.plan.clone();
        let key = run(py, CIPHERTEXT_US, move |_| Ok(SecretKey::generate(plan.context(), &SecretSeed::from_os()?)))?;
        Ok(Conv2dClient { plan: self.plan.clone(), key: Arc::new(key) })
    }

    /// Prepares kernels of shape (M, C, h, w) for any number of images.
    fn prepare(&self, py: Python<'_>, kernels: &Bound<'_, PyAny>) -> Result<PreparedKernels, Failure> {
        let (m, c, h, w) = self.kernels_shape();
        let kernels = of_shape(kernels, "an array of kernels", &[m, c, h, w])?.to_vec();
        let plan = self.plan.clone();
        let kernels = run(py, PRODUCT_US * self.plan.plain_products() as f64, move |_| {
            Ok(ConvKernels::prepare(&plan, &kernels)?)
        })?;
        Ok(PreparedKernels { plan: self.plan.clone(), kernels: Arc::new(kernels) })
    }
}

#[pymethods]
impl Conv2dClient {
    /// Encrypts an image of shape (C, H, W).
    fn encrypt(&self, py: Python<'_>, image: &Bound<'_, PyAny>) -> Result<EncryptedImage, Failure> {
        let shape = self.plan.shape();
        let image = of_shape(image, "an image", &[shape.channels, shape.height, shape.width])?.to_vec();
        let (plan, key) = (self.plan.clone(), self.key.clone());
        let image = run(py, CIPHERTEXT_US * plan.image_ciphertexts() as f64, move |_| {
            Ok(Image::encrypt(&plan, &key, &image, &mut Csprng::from_os()?)?)
        })?;
        Ok(EncryptedImage { plan: self.plan.clone(), image: Arc::new(image) })
    }

    /// The output, of shape (M, H', W').
    fn decrypt<'py>(&self, py: Python<'py>, output: &EncryptedConvolution) -> Result<Bound<'py, PyAny>, Failure> {
        let shape = self.plan.shape();
        let dimensions = [shape.kernels, shape.output_height(), shape.output_width()];
        let (key, output) = (self.key.clone(), output.output.clone());
        let estimate = CIPHERTEXT_US * self.plan.output_ciphertexts() as f64;
        let values = run(py, estimate, move |_| Ok(output.decrypt(&key)?))?;
        let flat = arrays::vector(py, values);
        let flat = flat.cast::<numpy::PyArray1<i64>>().map_err(PyErr::from)?;
        Ok(flat.reshape(dimensions)?.into_any())
    }

    fn __repr__(&self) -> String {
        format!("<Conv2dClient of key set {}>", self.key.tag())
    }

    fn __reduce__(&self) -> Result<(), Failure> {
        Err(not_pickled("Conv2dClient"))
    }
}

#[pymethods]
impl PreparedKernels {
    /// The convolution of an encrypted image with all kernels.
    fn convolve(&self, py: Python<'_>, image: &EncryptedImage) -> Result<EncryptedConvolution, Failure> {
        let (kernels, image) = (self.kernels.clone(), image.image.clone());
        let estimate = PRODUCT_US * self.plan.plain_products() as f64;
        let output = run(py, estimate, move |_| Ok(kernels.multiply(&image)?))?;
        Ok(EncryptedConvolution { plan: self.plan.clone(), output: Arc::new(output) })
    }
}

/// The ciphertexts of an object, each in its envelope.
fn sealed<'py>(py: Python<'py>, plan: &Plan, ciphertexts: &[Ciphertext]) -> Result<Bound<'py, PyList>, Failure> {
    let bytes = ciphertexts.iter().map(|ciphertext| Ok(PyBytes::new(py, &ciphertext.to_bytes(plan.context())?)));
    Ok(PyList::new(py, bytes.collect::<Result<Vec<_>, Failure>>()?)?)
}

fn opened(plan: &Plan, ciphertexts: &[Vec<u8>]) -> Result<Vec<Ciphertext>, Failure> {
    ciphertexts.iter().map(|bytes| Ok(Ciphertext::from_bytes(plan.context(), bytes)?)).collect()
}

#[pymethods]
impl EncryptedImage {
    /// The bytes of each ciphertext.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyList>, Failure> {
        sealed(py, &self.plan, self.image.ciphertexts())
    }

    #[staticmethod]
    fn from_bytes(plan: &Conv2dPlan, ciphertexts: Vec<Vec<u8>>) -> Result<Self, Failure> {
        let image = Image::from_ciphertexts(&plan.plan, opened(&plan.plan, &ciphertexts)?)?;
        Ok(Self { plan: plan.plan.clone(), image: Arc::new(image) })
    }
}

#[pymethods]
impl EncryptedConvolution {
    /// The bytes of each ciphertext.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyList>, Failure> {
        sealed(py, &self.plan, self.output.ciphertexts())
    }

    #[staticmethod]
    fn from_bytes(plan: &Conv2dPlan, ciphertexts: Vec<Vec<u8>>) -> Result<Self, Failure> {
        let output = Output::from_ciphertexts(&plan.plan, opened(&plan.plan, &ciphertexts)?)?;
        Ok(Self { plan: plan.plan.clone(), output: Arc::new(output) })
    }
}
