//! One suite for every transport.

#[path = "../support/mod.rs"]
mod support;

mod suite;

/// Makes the tests of the suite for a host.
macro_rules! transport_suite {
    ($name:ident, $host:ty) => {
        mod $name {
            use crate::{
                suite,
                support::{self, Host},
            };
            use ciphermill_device::SpaceLimits;

            transport_suite!(@tests $host, SpaceLimits::UNLIMITED;
                blobs_of_any_size_come_back,
                content_of_another_length_is_refused_and_the_earlier_version_stays,
                an_output_that_fails_is_told_apart,
                a_blob_that_is_not_there_is_not_found,
                what_the_device_does_not_take_is_refused,
                a_write_runs_the_program,
                a_read_runs_the_program_when_asked_or_armed,
                the_list_is_ascending_and_complete,
                readers_see_whole_versions,
            );
            transport_suite!(@tests $host, suite::SMALL; a_full_space_keeps_what_it_has,);

            #[test]
            fn blobs_outlive_a_restart() {
                suite::blobs_outlive_a_restart(<$host>::start(SpaceLimits::UNLIMITED));
            }
        }
    };
    (@tests $host:ty, $limits:expr; $($test:ident,)*) => {
        $(
            #[test]
            fn $test() {
                suite::$test(&<$host>::start($limits));
            }
        )*
    };
}

transport_suite!(embedded, support::EmbeddedHost);
transport_suite!(nvme, support::nvme::NvmeHost);
