//! The cells of one layer, step by step.

use super::LstmLayer;
use crate::layout::signed;
use crate::ops::products::matrices::Parent;
use crate::ops::shape::join::stack;
use crate::{Result, Tensor};

/// The hidden state and the cell state of a layer, of shape (batch, size).
pub(super) struct State {
    pub hidden: Tensor,
    pub cell: Tensor,
}

impl LstmLayer<'_> {
    /// Runs the layer over an input of shape (steps, batch, features). Returns the hidden state of each step, of shape
    /// (steps, batch, size), and the last state.
    pub(super) fn run(&self, parent: Parent, input: &Tensor, mut state: State) -> Result<(Tensor, State)> {
        // The products with the inputs do not depend on the states: they are one product for all steps.
        let inputs = input.linear_in(parent, self.weight_ih, self.biases.map(|[bias, _]| bias))?;
        let mut outputs = Vec::new();
        let steps = input.shape().first().map_or(0, |&steps| signed(steps));
        for step in 0..steps {
            let inputs = inputs.select(0, step)?;
            let states = state.hidden.linear_in(parent, self.weight_hh, self.biases.map(|[_, bias]| bias))?;
            state = next_state(&inputs.add(&states)?, &state.cell)?;
            outputs.push(state.hidden.clone());
        }
        Ok((stack(&outputs, 0)?, state))
    }
}

/// Computes the next state from the sums of the gates, of shape (batch, 4 * size), and the state of the cell.
fn next_state(gates: &Tensor, cell: &Tensor) -> Result<State> {
    let size = cell.shape().last().map_or(0, |&size| signed(size));
    let gate = |number: i64| gates.narrow(-1, number * size, size);
    let (input, forget, candidate, output) = (gate(0)?, gate(1)?, gate(2)?, gate(3)?);
    let cell = forget.sigmoid()?.mul(cell)?.add(&input.sigmoid()?.mul(&candidate.tanh()?)?)?;
    let hidden = output.sigmoid()?.mul(&cell.tanh()?)?;
    Ok(State { hidden, cell })
}
