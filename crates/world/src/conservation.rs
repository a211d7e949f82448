//! At the end of a run, in every build: no packet vanished and none appeared.

use crate::Ledger;
use crate::context::Context;
use crate::network::Network;

impl Network {
    /// A run whose packets are not accounted for gives no results: it fails, as with every invariant of the simulator.
    #[cold]
    pub(crate) fn refuse_leaks(&mut self, ledger: &Ledger, context: &Context) {
        if let Err(leak) = self.check_conservation(ledger, context) {
            panic!("packets are not accounted for: {leak}; please report this with the experiment");
        }
    }

    /// Checks the ledger of the run, and then that of each discipline by emptying it.
    pub(crate) fn check_conservation(&mut self, ledger: &Ledger, context: &Context) -> Result<(), String> {
        if !ledger.balances() {
            return Err(ledger.to_string());
        }
        if !context.counts_agree() {
            return Err(format!("those of all sockets together are others than {ledger}"));
        }
        let now = context.now;
        for (device, name) in self.devices.iter_mut().zip(&context.journal.devices) {
            let on_device = |what: &str| format!("on `{}` {what}", context.journal.record.names.text(*name));
            if !device.wire.holds_all() {
                return Err(on_device("packets on the wire are not there"));
            }
            device.check_conservation(now).map_err(|leak| on_device(&leak.to_string()))?;
        }
        Ok(())
    }
}
