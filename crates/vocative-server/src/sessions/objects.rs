//! Where the bytes of shared sessions are: an object store of any kind (section 4).

use std::time::Duration;

use axum::body::Bytes;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, ObjectStoreScheme, PutPayload, parse_url_opts};
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use url::Url;

use crate::settings::Settings;

/// How long reading or writing an object may take. The library tries again meanwhile.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// An object store, from a place in it on.
#[derive(Debug)]
pub(crate) struct Objects {
    store: Box<dyn ObjectStore>,
    root: Path,
}

/// Why objects cannot be kept as it was set.
#[derive(Debug, thiserror::Error)]
pub enum BadObjects {
    /// The address is none.
    #[error("`{given}` is no address of an object store: s3://bucket/path, gs://…, az://… or file:///…")]
    Address {
        /// What was given.
        given: String,
    },
    /// The folder cannot be used.
    #[error("the folder of shared sessions cannot be used: {0}")]
    Folder(std::io::Error),
    /// The other nodes would not see what this one keeps.
    #[error(
        "nodes that share a bus need one object store: set --objects, or --shared-folder if every node \
         sees this folder"
    )]
    NotShared,
    /// What the library says.
    #[error("the object store cannot be used: {0}")]
    Store(object_store::Error),
}

impl BadObjects {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Address { .. } => "bad_objects",
            Self::Folder(_) => "objects_folder",
            Self::NotShared => "objects_not_shared",
            Self::Store(_) => "objects_unusable",
        }
    }
}

/// Why an object was not read or written now.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreachable {
    /// It took too long.
    #[error("the object store does not answer in time")]
    Late(#[from] Elapsed),
    /// What the library says.
    #[error(transparent)]
    Store(object_store::Error),
}

impl Objects {
    /// Opens what the settings name. A folder is made if it is not there.
    ///
    /// # Errors
    /// Why objects cannot be kept there.
    pub(crate) fn open(settings: &Settings) -> Result<Self, BadObjects> {
        let Some(given) = &settings.objects else {
            return Self::folder(&settings.data.join("objects"), settings);
        };
        let no_address = || BadObjects::Address { given: given.clone() };
        let url = Url::parse(given).map_err(|_| no_address())?;
        let (scheme, _) = ObjectStoreScheme::parse(&url).map_err(|_| no_address())?;
        if scheme == ObjectStoreScheme::Local {
            return Self::folder(&url.to_file_path().map_err(|()| no_address())?, settings);
        }
        crate::provide_tls();
        let options = settings.object_options.iter().map(|(name, value)| (name, value.reveal()));
        let (store, root) = parse_url_opts(&url, options).map_err(BadObjects::Store)?;
        Ok(Self { store, root })
    }

    fn folder(folder: &std::path::Path, settings: &Settings) -> Result<Self, BadObjects> {
        if settings.bus.is_some() && !settings.shared_folder {
            return Err(BadObjects::NotShared);
        }
        std::fs::create_dir_all(folder).map_err(BadObjects::Folder)?;
        let store = LocalFileSystem::new_with_prefix(folder).map_err(BadObjects::Store)?;
        // What is acknowledged outlasts a loss of power.
        Ok(Self { store: Box::new(store.with_fsync(true)), root: Path::default() })
    }

    fn path(&self, name: &str) -> Path {
        self.root.clone().join("sessions").join(name)
    }

    /// Keeps bytes under a name, in the place of what was there. They are durable afterwards.
    ///
    /// # Errors
    /// When it does not work, or not in time.
    pub(crate) async fn put(&self, name: &str, bytes: Bytes) -> Result<(), Unreachable> {
        let path = self.path(name);
        let putting = self.store.put(&path, PutPayload::from_bytes(bytes));
        timeout(PATIENCE, putting).await?.map(drop).map_err(Unreachable::Store)
    }

    /// The bytes under a name.
    ///
    /// # Errors
    /// When it does not work, or not in time.
    pub(crate) async fn get(&self, name: &str) -> Result<Option<Bytes>, Unreachable> {
        let path = self.path(name);
        let getting = async {
            match self.store.get(&path).await {
                Ok(found) => found.bytes().await.map(Some),
                Err(object_store::Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        };
        timeout(PATIENCE, getting).await?.map_err(Unreachable::Store)
    }
}

#[cfg(test)]
mod tests;
