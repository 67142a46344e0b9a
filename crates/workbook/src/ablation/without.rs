//! A job that runs without an idea.

use benches::Job;
use candle_core::{Result, Tensor};
use kernels::without::{self, Idea};

/// A job, and the idea that is left out whenever it runs: the setting is the thread's, and jobs take turns.
pub struct Without {
    idea: Option<Idea>,
    job: Box<dyn Job>,
}

impl Without {
    pub fn new(idea: Option<Idea>, job: Box<dyn Job>) -> Self {
        Self { idea, job }
    }

    fn job(&mut self) -> &mut dyn Job {
        without::set(self.idea.as_slice());
        self.job.as_mut()
    }
}

impl Job for Without {
    fn reset(&mut self) {
        self.job().reset();
    }

    fn prepare(&mut self) -> Result<()> {
        self.job().prepare()
    }

    fn run(&mut self) -> Result<Tensor> {
        self.job().run()
    }

    fn prepare_pass(&mut self) -> Result<()> {
        self.job().prepare_pass()
    }

    fn queue(&mut self) -> Result<Tensor> {
        self.job().queue()
    }

    fn forwards(&self) -> usize {
        self.job.forwards()
    }

    fn inputs(&self) -> Result<Vec<(&'static str, Tensor)>> {
        self.job.inputs()
    }

    fn recorded(&self) -> Option<usize> {
        self.job.recorded()
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;

    /// A job whose result says whether the overlap was left out.
    struct Overlap;

    impl Job for Overlap {
        fn queue(&mut self) -> Result<Tensor> {
            Tensor::new(u32::from(Idea::Overlap.is_left_out()), &Device::Cpu)
        }

        fn inputs(&self) -> Result<Vec<(&'static str, Tensor)>> {
            Ok(vec![])
        }
    }

    #[test]
    fn each_job_has_its_own_setting() -> Result<()> {
        let mut all = Without::new(None, Box::new(Overlap));
        let mut without = Without::new(Some(Idea::Overlap), Box::new(Overlap));
        for _ in 0..2 {
            assert_eq!(all.run()?.to_scalar::<u32>()?, 0);
            assert_eq!(without.run()?.to_scalar::<u32>()?, 1);
        }
        all.prepare()
    }
}
