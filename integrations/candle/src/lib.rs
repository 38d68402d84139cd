//! [candle](candle_core) under interlock's flags.
//!
//! - [`follow`] sets candle's switches of reduced precision from interlock's flags, at each change.
//! - [`matmul`], [`broadcast_matmul`] and [`scaled_dot_product_attention`] run tensors of the CPU on the kernel that
//!   interlock's flags choose, with a [record](interlock::dispatch::Recording) and gradients.
//! - [`run`] calls a function on a pool of [`num_threads`](interlock::num_threads) threads, with the state of the caller.
//!
//! ```
//! use candle_core::{Device, Tensor};
//! use interlock::backends::flags::MKLDNN_NUMERICS;
//! use interlock::backends::{MkldnnNumerics, Node, Precision};
//! use interlock::dispatch::Recording;
//!
//! let x = Tensor::new(&[[1.003_f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
//! let model = MKLDNN_NUMERICS.scope(MkldnnNumerics::Model)?;
//! let precision = Node::MkldnnMatmul.scope(Precision::Bf16)?;
//! let (recording, _guards) = (Recording::default(), (model.guard(), precision.guard()));
//! let product = {
//!     let _recording = recording.guard();
//!     interlock_candle::matmul(&x, &x)?
//! };
//! // 1.003 is rounded to 1.
//! assert_eq!(product.to_vec2::<f32>()?, [[7.0, 10.0], [15.0, 22.0]]);
//! assert!(recording.calls()[0].to_string().starts_with("matmul cpu float32 2x2 @ 2x2 -> mkldnn (model), inputs bf16"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod attention;
mod convert;
mod follow;
mod matmul;
mod precision;
mod threads;

pub use attention::{AttentionOptions, scaled_dot_product_attention};
pub use candle_core;
pub use follow::{Following, Switches, follow, follow_with};
pub use matmul::{broadcast_matmul, matmul};
pub use precision::{Precision, ROWS, Row, markdown};
pub use threads::run;

/// The example of the package's page, as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
