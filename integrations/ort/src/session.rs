//! Sessions and their builder.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::path::Path;

use interlock::backends::FlagHook;
use ort::editor::Model;
use ort::environment::Environment;
use ort::ep::{self, ExecutionProviderDispatch};
use ort::session::builder::BuilderResult;

use crate::difference::{Difference, differences, warn_of_changes};
use crate::{Result, SessionOptions, StateThreads};

/// Builds a session with the settings and the state that the thread had when it created the builder.
pub struct SessionBuilder {
    options: SessionOptions,
    threads: StateThreads,
    builder: ort::session::builder::SessionBuilder,
    is_on_cuda: bool,
}

impl SessionBuilder {
    /// Captures the settings and the state of the calling thread.
    ///
    /// # Errors
    /// Returns the errors of [`SessionOptions::capture`], and those of ONNX Runtime.
    pub fn new(environment: &Environment) -> Result<Self> {
        let (options, threads) = (SessionOptions::capture()?, StateThreads::capture());
        let builder = options.apply(ort::session::Session::builder(environment)?)?;
        let builder = builder.with_thread_manager(threads.clone())?;
        Ok(SessionBuilder { options, threads, builder, is_on_cuda: false })
    }

    /// Returns the options that the session gets.
    pub fn options(&self) -> &SessionOptions {
        &self.options
    }

    /// Returns the builder of ort.
    pub fn as_ort(&self) -> &ort::session::builder::SessionBuilder {
        &self.builder
    }

    /// Changes other options. Those that interlock controls can be changed, too: [`Session::stale`] does not see that.
    ///
    /// # Errors
    /// Returns the error of `configure`.
    pub fn configure(
        self,
        configure: impl FnOnce(ort::session::builder::SessionBuilder) -> BuilderResult,
    ) -> Result<Self> {
        Ok(SessionBuilder { builder: configure(self.builder)?, ..self })
    }

    /// Adds the CUDA execution provider with the captured options; `configure` sets further ones and builds it.
    ///
    /// # Errors
    /// Returns the errors of ONNX Runtime, for example of a library without CUDA if the provider was built with
    /// `error_on_failure`.
    pub fn with_cuda(self, configure: impl FnOnce(ep::CUDA) -> ExecutionProviderDispatch) -> Result<Self> {
        let provider = configure(self.options.cuda.provider());
        let builder = self.builder.with_execution_providers([provider])?;
        Ok(SessionBuilder { builder, is_on_cuda: true, ..self })
    }

    /// Loads a model from a file.
    ///
    /// # Errors
    /// Returns the errors of ONNX Runtime.
    pub fn commit_from_file(mut self, path: impl AsRef<Path>) -> Result<Session> {
        let session = self.builder.commit_from_file(path)?;
        Ok(self.finish(session))
    }

    /// Loads a model from the bytes of its file.
    ///
    /// # Errors
    /// Returns the errors of ONNX Runtime.
    pub fn commit_from_memory(mut self, bytes: &[u8]) -> Result<Session> {
        let session = self.builder.commit_from_memory(bytes)?;
        Ok(self.finish(session))
    }

    /// Loads a model that the program has built.
    ///
    /// # Errors
    /// Returns the errors of ONNX Runtime.
    pub fn commit_from_model(self, model: Model) -> Result<Session> {
        let session = model.into_session(&self.builder)?;
        Ok(self.finish(session))
    }

    fn finish(self, session: ort::session::Session) -> Session {
        let SessionBuilder { options, threads, is_on_cuda, .. } = self;
        let hook = warn_of_changes(options.clone(), is_on_cuda);
        Session { session, options, threads, is_on_cuda, _hook: hook }
    }
}

impl fmt::Debug for SessionBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionBuilder").field("options", &self.options).finish_non_exhaustive()
    }
}

/// A session of ONNX Runtime, and the options that it has. It keeps them until it is dropped.
///
/// The first write of a flag for the process that would give a new session other options logs one warning.
pub struct Session {
    // Dropped first: its threads are joined.
    session: ort::session::Session,
    options: SessionOptions,
    threads: StateThreads,
    is_on_cuda: bool,
    _hook: FlagHook,
}

impl Session {
    /// Returns the options.
    pub fn options(&self) -> &SessionOptions {
        &self.options
    }

    /// Returns the number of threads that the session has created.
    pub fn threads(&self) -> usize {
        self.threads.created()
    }

    /// Returns the options that a session would have if this thread created it now, and this one has not. It is empty
    /// in the scope in which the session was created.
    ///
    /// # Errors
    /// Returns the errors of [`SessionOptions::capture`].
    pub fn stale(&self) -> Result<Vec<Difference>> {
        Ok(differences(&self.options, &SessionOptions::capture()?, self.is_on_cuda).collect())
    }
}

impl Deref for Session {
    type Target = ort::session::Session;

    fn deref(&self) -> &Self::Target {
        &self.session
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.session
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("options", &self.options).finish_non_exhaustive()
    }
}
