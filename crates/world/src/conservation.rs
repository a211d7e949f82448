//! At the end of a run, in every build: no packet vanished and none appeared.

use crate::RunError;
use crate::world::World;

impl World {
    /// Checks, at the end of a run in any build, that no packet vanished and none appeared: the ledger of the run, and
    /// then that of each discipline by emptying it.
    pub(crate) fn check_conservation(&mut self) -> Result<(), RunError> {
        let ledger = self.ledger();
        if !ledger.balances() {
            return Err(RunError::NotConserved(ledger.to_string()));
        }
        if !self.context.counts_agree() {
            return Err(RunError::NotConserved(format!(
                "those of all sockets together are others than {ledger}"
            )));
        }
        let now = self.context.now;
        for (device, name) in self.devices.iter_mut().zip(&self.context.journal.devices) {
            let refused = |what: String| {
                let name = self.context.journal.record.names.text(*name);
                RunError::NotConserved(format!("on `{name}` {what}"))
            };
            if !device.wire.holds_all() {
                return Err(refused("packets on the wire are not there".to_owned()));
            }
            device.check_conservation(now).map_err(|leak| refused(leak.to_string()))?;
        }
        Ok(())
    }
}
