//! The model: Python code that runs on the threads of tokio for blocking work, in the state of the request.

use std::error::Error;
use std::ffi::CString;
use std::path::Path;
use std::sync::Arc;

use interlock::state::ThreadState;
use interlock_python::_core;
use pyo3::prelude::*;
use pyo3::types::PyModule;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::environment::start_interpreter;

const SOURCE: &str = include_str!("model.py");

/// The answer of the model.
#[derive(Deserialize, Serialize)]
pub struct Answer {
    /// The state that Python saw before it awaited.
    before: Value,
    /// The state that Python saw after it had awaited, in a scope of `cudnn.deterministic`.
    in_scope: Value,
    /// The state that Python saw after the scope.
    after: Value,
    /// The result.
    output: Vec<f64>,
    /// Whether the result has a graph.
    requires_grad: bool,
    /// Whether the library that computes the result records gradients.
    library_grad: bool,
}

/// The functions of `model.py`.
#[derive(Clone)]
pub struct Model(Arc<Py<PyModule>>);

impl Model {
    /// Starts the interpreter and imports the model.
    pub fn load(environment: &Path) -> Result<Self, Box<dyn Error>> {
        // Before the interpreter starts, so that `import interlock` binds to the copy in this program.
        pyo3::append_to_inittab!(_core);
        start_interpreter(environment)?;
        Python::attach(|py| {
            let module = PyModule::from_code(py, &CString::new(SOURCE)?, c"model.py", c"model")?;
            Ok(Model(Arc::new(module.unbind())))
        })
    }

    /// Calls the model in the state of the calling task.
    pub async fn predict(
        &self,
        values: Vec<f64>,
        delay: u64,
    ) -> Result<Answer, Box<dyn Error + Send + Sync>> {
        let text: String = self.call("predict", (values, delay)).await?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Returns the open scopes and the library that computes the model.
    pub async fn status(&self) -> Result<(Vec<String>, String), Box<dyn Error + Send + Sync>> {
        self.call("status", ()).await
    }

    /// Calls a function of the module on a thread for blocking work, in the state of the calling task.
    async fn call<A, R>(&self, name: &'static str, arguments: A) -> Result<R, Box<dyn Error + Send + Sync>>
    where
        A: for<'py> pyo3::call::PyCallArgs<'py> + Send + 'static,
        R: for<'a, 'py> FromPyObject<'a, 'py> + Send + 'static,
    {
        let (module, state) = (self.0.clone(), ThreadState::capture());
        let work = move || {
            Python::attach(|py| {
                let result = module.bind(py).getattr(name)?.call1(arguments)?;
                result.extract::<R>().map_err(Into::into)
            })
        };
        // The thread has no state of its own: it runs the work of many requests.
        Ok(tokio::task::spawn_blocking(move || state.run(work)).await??)
    }
}
