//! Convolutions of encrypted images and volumes with plain kernels.

use std::sync::Arc;

use ciphermill_bfv::SecretKey;
use ciphermill_bfv::ciphertext::Ciphertext;
use ciphermill_hmvp::HmvpError;
use ciphermill_hmvp::conv::{
    Conv3dShape, ConvPlan, ConvRequest, ConvShape, EncryptedInput, EncryptedOutput, Kernels, Shape,
};
use ciphermill_lattice::{Csprng, KeyTag, SecretSeed};
use ciphermill_math::Isa;
use numpy::PyArrayMethods;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::arrays::{self, Integers};
use crate::bytes::{Bytes, BytesList};
use crate::errors::Failure;
use crate::json;
use crate::run::run;
use crate::secrets::not_pickled;

/// Estimated microseconds of encrypting or decrypting one ciphertext.
const CIPHERTEXT_US: f64 = 300.0;

/// Estimated microseconds of a product of a plaintext and a ciphertext.
const PRODUCT_US: f64 = 20.0;

/// A convolution of any number of dimensions, with the shapes of its arrays.
trait Dimensions: Shape + Send + Sync + 'static {
    /// Of an image: (C, H, W) or (C, D, H, W).
    fn image(&self) -> Vec<usize>;
    /// Of the kernels: (M, C, h, w) or (M, C, d, h, w).
    fn kernels(&self) -> Vec<usize>;
    /// Of the output: (M, H', W') or (M, D', H', W').
    fn output(&self) -> Vec<usize>;
}

impl Dimensions for ConvShape {
    fn image(&self) -> Vec<usize> {
        vec![self.channels, self.height, self.width]
    }

    fn kernels(&self) -> Vec<usize> {
        vec![self.kernels, self.channels, self.kernel_height, self.kernel_width]
    }

    fn output(&self) -> Vec<usize> {
        vec![self.kernels, self.output_height(), self.output_width()]
    }
}

impl Dimensions for Conv3dShape {
    fn image(&self) -> Vec<usize> {
        vec![self.plane.channels, self.depth, self.plane.height, self.plane.width]
    }

    fn kernels(&self) -> Vec<usize> {
        let plane = &self.plane;
        vec![plane.kernels, plane.channels, self.kernel_depth, plane.kernel_height, plane.kernel_width]
    }

    fn output(&self) -> Vec<usize> {
        vec![self.plane.kernels, self.output_depth(), self.plane.output_height(), self.plane.output_width()]
    }
}

/// The sizes of a shape that is written as `axes`.
fn sizes<const N: usize>(shape: &Bound<'_, PyAny>, what: &str, axes: &str) -> Result<[usize; N], Failure> {
    let sizes = shape.extract::<Vec<usize>>().ok().and_then(|sizes| sizes.try_into().ok());
    match sizes {
        Some(sizes) => Ok(sizes),
        None => Err(Failure::parameter(format!("{what} {} is not supported; use {axes}", shape.repr()?))),
    }
}

/// The integers of an array of this shape.
fn of_shape(array: &Bound<'_, PyAny>, what: &str, shape: &[usize]) -> Result<Integers, Failure> {
    let integers = Integers::new(array, what)?;
    if integers.shape() == shape {
        return Ok(integers);
    }
    let (given, shape) = (arrays::shape(integers.shape()), arrays::shape(shape));
    Err(Failure::parameter(format!("{what} of shape {given} does not fit the plan; use {shape}")))
}

fn plan<S: Dimensions>(
    py: Python<'_>,
    shape: S,
    kernel_bits: u32,
    image_bits: u32,
) -> Result<Arc<ConvPlan<S>>, Failure> {
    let request = ConvRequest { kernel_bits, image_bits, ..ConvRequest::new(shape) };
    let plan = run(py, f64::INFINITY, move |_| Ok(ConvPlan::new(&request, Isa::current())?))?;
    Ok(Arc::new(plan))
}

fn keygen<S: Dimensions>(py: Python<'_>, plan: &Arc<ConvPlan<S>>) -> Result<Arc<SecretKey>, Failure> {
    let plan = plan.clone();
    let key = run(py, CIPHERTEXT_US, move |_| Ok(SecretKey::generate(plan.context(), &SecretSeed::from_os()?)))?;
    Ok(Arc::new(key))
}

fn prepare<S: Dimensions>(
    py: Python<'_>,
    plan: &Arc<ConvPlan<S>>,
    kernels: &Bound<'_, PyAny>,
) -> Result<Arc<Kernels<S>>, Failure> {
    let kernels = of_shape(kernels, "an array of kernels", &plan.shape().kernels())?.to_vec();
    let plan = plan.clone();
    let estimate = PRODUCT_US * plan.plain_products() as f64;
    Ok(Arc::new(run(py, estimate, move |_| Ok(Kernels::prepare(&plan, &kernels)?))?))
}

fn encrypt<S: Dimensions>(
    py: Python<'_>,
    plan: &Arc<ConvPlan<S>>,
    key: &Arc<SecretKey>,
    image: &Bound<'_, PyAny>,
) -> Result<Arc<EncryptedInput<S>>, Failure> {
    let image = of_shape(image, "an image", &plan.shape().image())?.to_vec();
    let (plan, key) = (plan.clone(), key.clone());
    let image = run(py, CIPHERTEXT_US * plan.image_ciphertexts() as f64, move |_| {
        Ok(EncryptedInput::encrypt(&plan, &key, &image, &mut Csprng::from_os()?)?)
    })?;
    Ok(Arc::new(image))
}

fn multiply<S: Dimensions>(
    py: Python<'_>,
    plan: &Arc<ConvPlan<S>>,
    kernels: &Arc<Kernels<S>>,
    image: &Arc<EncryptedInput<S>>,
) -> Result<Arc<EncryptedOutput<S>>, Failure> {
    let (kernels, image) = (kernels.clone(), image.clone());
    let estimate = PRODUCT_US * plan.plain_products() as f64;
    Ok(Arc::new(run(py, estimate, move |_| Ok(kernels.multiply(&image)?))?))
}

fn decrypt<'py, S: Dimensions>(
    py: Python<'py>,
    plan: &Arc<ConvPlan<S>>,
    key: &Arc<SecretKey>,
    output: &Arc<EncryptedOutput<S>>,
) -> Result<Bound<'py, PyAny>, Failure> {
    if output.plan() != plan {
        return Err(HmvpError::WrongPlan { what: "the output" }.into());
    }
    let (key, output) = (key.clone(), output.clone());
    let values = run(py, CIPHERTEXT_US * plan.output_ciphertexts() as f64, move |_| Ok(output.decrypt(&key)?))?;
    let flat = arrays::vector(py, values);
    let flat = flat.cast::<numpy::PyArray1<i64>>().map_err(PyErr::from)?;
    Ok(flat.reshape(plan.shape().output())?.into_any())
}

/// The ciphertexts of an object, each in its envelope.
fn sealed<'py, S: Dimensions>(
    py: Python<'py>,
    plan: &ConvPlan<S>,
    ciphertexts: &[Ciphertext],
) -> Result<Bound<'py, PyList>, Failure> {
    let bytes = ciphertexts.iter().map(|ciphertext| Ok(PyBytes::new(py, &ciphertext.to_bytes(plan.context())?)));
    Ok(PyList::new(py, bytes.collect::<Result<Vec<_>, Failure>>()?)?)
}

fn opened<S: Dimensions>(plan: &ConvPlan<S>, ciphertexts: &[Bytes<'_>]) -> Result<Vec<Ciphertext>, Failure> {
    ciphertexts.iter().map(|bytes| Ok(Ciphertext::from_bytes(plan.context(), bytes)?)).collect()
}

/// The costs of a plan. They take no time to compute.
fn explain<'py, S: Dimensions>(py: Python<'py>, plan: &ConvPlan<S>) -> Result<Bound<'py, PyAny>, Failure> {
    json::explanation(py, &plan.explain())
}

/// The key set of this name.
fn key_set(name: &str) -> Result<KeyTag, Failure> {
    // `from_str_radix` would accept a sign.
    let digits = name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let tag = digits.then(|| u64::from_str_radix(name, 16).ok()).flatten();
    tag.map(KeyTag).ok_or_else(|| {
        let message = format!("key set {name:?} is not supported; use the tag of a client, 16 hexadecimal digits");
        Failure::parameter(message)
    })
}

/// Defines the classes of convolutions of one number of dimensions. `new` is the constructor of the plan's class.
macro_rules! classes {
    (
        $shape:ty: $plan:ident, $client:ident, $kernels:ident, $image:ident, $output:ident;
        new: $($new:tt)*
    ) => {
        /// The agreement between the client and the server of a convolution.
        #[pyclass(frozen, module = "ciphermill")]
        pub(crate) struct $plan {
            plan: Arc<ConvPlan<$shape>>,
        }

        /// The owner of a key set: encrypts images and decrypts outputs.
        #[pyclass(frozen, module = "ciphermill")]
        pub(crate) struct $client {
            plan: Arc<ConvPlan<$shape>>,
            key: Arc<SecretKey>,
        }

        /// Kernels in the form in which they multiply.
        #[pyclass(frozen, module = "ciphermill")]
        pub(crate) struct $kernels {
            plan: Arc<ConvPlan<$shape>>,
            kernels: Arc<Kernels<$shape>>,
        }

        /// An encrypted image.
        #[pyclass(frozen, module = "ciphermill")]
        pub(crate) struct $image {
            plan: Arc<ConvPlan<$shape>>,
            image: Arc<EncryptedInput<$shape>>,
        }

        /// An encrypted output.
        #[pyclass(frozen, module = "ciphermill")]
        pub(crate) struct $output {
            plan: Arc<ConvPlan<$shape>>,
            output: Arc<EncryptedOutput<$shape>>,
        }

        #[pymethods]
        impl $plan {
            $($new)*

            /// The shape of an image.
            #[getter]
            fn image_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
                PyTuple::new(py, self.plan.shape().image())
            }

            /// The shape of the kernels.
            #[getter]
            fn kernels_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
                PyTuple::new(py, self.plan.shape().kernels())
            }

            /// The shape of the output.
            #[getter]
            fn output_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
                PyTuple::new(py, self.plan.shape().output())
            }

            /// The costs of the plan.
            fn explain<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Failure> {
                explain(py, &self.plan)
            }

            #[getter]
            fn log2_failure(&self) -> f64 {
                self.plan.log2_failure()
            }

            /// New keys. No key is needed to multiply.
            fn keygen(&self, py: Python<'_>) -> Result<$client, Failure> {
                Ok($client { plan: self.plan.clone(), key: keygen(py, &self.plan)? })
            }

            /// Prepares kernels for any number of images.
            fn prepare(&self, py: Python<'_>, kernels: &Bound<'_, PyAny>) -> Result<$kernels, Failure> {
                Ok($kernels { plan: self.plan.clone(), kernels: prepare(py, &self.plan, kernels)? })
            }
        }

        #[pymethods]
        impl $client {
            /// The name that all objects of this key set carry.
            #[getter]
            fn tag(&self) -> String {
                self.key.tag().to_string()
            }

            /// Encrypts an image.
            fn encrypt(&self, py: Python<'_>, image: &Bound<'_, PyAny>) -> Result<$image, Failure> {
                Ok($image { plan: self.plan.clone(), image: encrypt(py, &self.plan, &self.key, image)? })
            }

            /// The output.
            fn decrypt<'py>(&self, py: Python<'py>, output: &$output) -> Result<Bound<'py, PyAny>, Failure> {
                decrypt(py, &self.plan, &self.key, &output.output)
            }

            fn __repr__(&self) -> String {
                format!(concat!("<", stringify!($client), " of key set {}>"), self.key.tag())
            }

            fn __reduce__(&self) -> Result<(), Failure> {
                Err(not_pickled(stringify!($client), "keep it in its process, or make another by keygen() of its plan"))
            }
        }

        #[pymethods]
        impl $kernels {
            /// The key set whose images they multiply; None for the images of every key set.
            #[getter]
            fn tag(&self) -> Option<String> {
                Some(self.kernels.tag()?.to_string())
            }

            /// Bytes that the kernels occupy.
            #[getter]
            fn nbytes(&self) -> u64 {
                self.kernels.memory_bytes()
            }

            /// The same kernels for the images of one key set, which is named by the tag of its client.
            fn for_key_set(&self, tag: &str) -> Result<Self, Failure> {
                Ok(Self { plan: self.plan.clone(), kernels: Arc::new(self.kernels.for_key_set(key_set(tag)?)) })
            }

            /// The convolution of an encrypted image with all kernels.
            fn convolve(&self, py: Python<'_>, image: &$image) -> Result<$output, Failure> {
                let output = multiply(py, &self.plan, &self.kernels, &image.image)?;
                Ok($output { plan: self.plan.clone(), output })
            }

            fn __matmul__(&self, py: Python<'_>, image: &$image) -> Result<$output, Failure> {
                self.convolve(py, image)
            }
        }

        #[pymethods]
        impl $image {
            /// The key set.
            #[getter]
            fn tag(&self) -> String {
                self.image.tag().to_string()
            }

            /// The bytes of each ciphertext.
            fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyList>, Failure> {
                sealed(py, &self.plan, self.image.ciphertexts())
            }

            #[staticmethod]
            fn from_bytes(plan: &$plan, ciphertexts: BytesList<'_>) -> Result<Self, Failure> {
                let image = EncryptedInput::from_ciphertexts(&plan.plan, opened(&plan.plan, &ciphertexts)?)?;
                Ok(Self { plan: plan.plan.clone(), image: Arc::new(image) })
            }
        }

        #[pymethods]
        impl $output {
            /// The key set.
            #[getter]
            fn tag(&self) -> String {
                self.output.tag().to_string()
            }

            /// The bytes of each ciphertext.
            fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyList>, Failure> {
                sealed(py, &self.plan, self.output.ciphertexts())
            }

            #[staticmethod]
            fn from_bytes(plan: &$plan, ciphertexts: BytesList<'_>) -> Result<Self, Failure> {
                let output = EncryptedOutput::from_ciphertexts(&plan.plan, opened(&plan.plan, &ciphertexts)?)?;
                Ok(Self { plan: plan.plan.clone(), output: Arc::new(output) })
            }
        }
    };
}

classes! {
    ConvShape: Conv2dPlan, Conv2dClient, PreparedKernels, EncryptedImage, EncryptedConvolution;
    new:
    #[new]
    #[pyo3(signature = (image, kernels, *, stride=1, padding=0, kernel_bits=8, image_bits=8))]
    fn new(
        py: Python<'_>,
        image: &Bound<'_, PyAny>,
        kernels: &Bound<'_, PyAny>,
        stride: usize,
        padding: usize,
        kernel_bits: u32,
        image_bits: u32,
    ) -> Result<Self, Failure> {
        let [channels, height, width] = sizes(image, "an image of shape", "(C, H, W)")?;
        let [kernels, kernel_height, kernel_width] = sizes(kernels, "kernels of shape", "(M, h, w)")?;
        let shape = ConvShape { channels, height, width, kernels, kernel_height, kernel_width, stride, padding };
        Ok(Self { plan: plan(py, shape, kernel_bits, image_bits)? })
    }
}

classes! {
    Conv3dShape: Conv3dPlan, Conv3dClient, PreparedKernels3d, EncryptedVolume, EncryptedConv3d;
    new:
    #[new]
    #[pyo3(signature = (image, kernels, *, stride=1, padding=0, depth_stride=None, depth_padding=None, kernel_bits=8,
        image_bits=8))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        py: Python<'_>,
        image: &Bound<'_, PyAny>,
        kernels: &Bound<'_, PyAny>,
        stride: usize,
        padding: usize,
        depth_stride: Option<usize>,
        depth_padding: Option<usize>,
        kernel_bits: u32,
        image_bits: u32,
    ) -> Result<Self, Failure> {
        let [channels, depth, height, width] = sizes(image, "an image of shape", "(C, D, H, W)")?;
        let [kernels, kernel_depth, kernel_height, kernel_width] =
            sizes(kernels, "kernels of shape", "(M, d, h, w)")?;
        let plane = ConvShape { channels, height, width, kernels, kernel_height, kernel_width, stride, padding };
        let (depth_stride, depth_padding) = (depth_stride.unwrap_or(stride), depth_padding.unwrap_or(padding));
        let shape = Conv3dShape { plane, depth, kernel_depth, depth_stride, depth_padding };
        Ok(Self { plan: plan(py, shape, kernel_bits, image_bits)? })
    }
}
