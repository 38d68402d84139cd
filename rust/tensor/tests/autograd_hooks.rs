//! Hooks, functions of the program, saved tensor hooks and anomaly mode.

use std::any::Any;
use std::sync::{Arc, Mutex};

use interlock::autograd::{ModeContext, ModeKind, SavedTensorHooksDisabledContext, no_grad};
use interlock_tensor::autograd::{
    BackwardArgs, CustomFunction, CustomRecord, EdgeOrTensor, ForwardStack, GradientEdge, MultiGradMode,
    NextFunction, PackedTensor, SavedTensorHooks, backward, grad, record, register_multi_grad_hook,
    saved_tensor_hooks_context, set_forward_stack_provider,
};
use interlock_tensor::{Error, ForeignError, Result, Tensor};

fn leaf(values: &[f64]) -> Tensor {
    let tensor = Tensor::from_slice(values, &[values.len()]).unwrap();
    tensor.set_requires_grad(true).unwrap();
    tensor
}

fn gradient(tensor: &Tensor) -> Vec<f64> {
    tensor.grad().unwrap().to_vec().unwrap()
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn add(&self, entry: &str) {
        self.0.lock().unwrap().push(entry.to_owned());
    }

    fn entries(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

#[test]
fn hooks_run_once_for_the_sum_of_all_gradients() {
    let (x, log) = (leaf(&[2.0]), Log::default());
    let y = x.mul(3.0).unwrap();
    let (hook, post) = (log.clone(), log.clone());
    y.register_hook(Arc::new(move |gradient: &Tensor| {
        hook.add(&format!("y {:?}", gradient.to_vec::<f64>()?));
        gradient.mul(10.0).map(Some)
    }))
    .unwrap();
    x.register_post_accumulate_grad_hook(Arc::new(move |leaf: &Tensor| {
        post.add(&format!("x {:?}", gradient(leaf)));
        Ok(())
    }))
    .unwrap();
    y.retain_grad().unwrap();
    y.mul(&x).unwrap().add(&y).unwrap().backward().unwrap();
    assert_eq!(log.entries(), ["y [3.0]", "x [96.0]"]);
    assert_eq!(gradient(&y), [30.0]);
}

#[test]
fn hook_handle_removes_its_hook() {
    let (x, log) = (leaf(&[1.0]), Log::default());
    let y = x.add(2.0).unwrap();
    let node = NextFunction::Node(y.grad_fn().unwrap().unwrap());
    let (pre, post) = (log.clone(), log.clone());
    let first = node.register_prehook(Arc::new(move |_: &[Option<Tensor>]| {
        pre.add("before");
        Ok(None)
    }));
    let second = node.register_hook(Arc::new(move |_: &[Option<Tensor>], _: &[Option<Tensor>]| {
        post.add("after");
        Ok(None)
    }));
    assert!(first.id() < second.id());
    y.backward().unwrap();
    first.remove();
    first.remove();
    y.backward().unwrap();
    second.remove();
    y.backward().unwrap();
    assert_eq!(log.entries(), ["before", "after", "after"]);
}

#[test]
fn error_of_a_hook_ends_the_pass() {
    let x = leaf(&[1.0]);
    let y = x.add(2.0).unwrap();
    let payload: Arc<dyn Any + Send + Sync> = Arc::new(7);
    let error = Error::Foreign(ForeignError::new("of the hook".to_owned(), payload));
    let returned = error.clone();
    let handle = y.register_hook(Arc::new(move |_: &Tensor| Err(returned.clone()))).unwrap();
    assert_eq!(y.backward(), Err(error));
    assert!(x.grad().is_none());
    handle.remove();
    y.backward().unwrap();
    assert_eq!(gradient(&x), [1.0]);
}

#[test]
fn hooks_of_an_unreachable_tensor_are_visited_and_cleared() {
    let x = leaf(&[1.0]);
    x.register_hook(Arc::new(|_: &Tensor| Ok(None))).unwrap();
    let visited = |tensor: &Tensor| {
        let mut count = 0;
        tensor.visit_owned(&mut |_| count += 1);
        count
    };
    assert_eq!(visited(&x), 1);
    let other = x.clone();
    // The other handle owns the hook, too.
    assert_eq!(visited(&x), 0);
    x.clear_owned();
    drop(other);
    assert_eq!(visited(&x), 1);
    x.clear_owned();
    assert_eq!(visited(&x), 0);
}

/// The backward function of the sum and the product of two numbers.
struct SumAndProduct {
    inputs: [Tensor; 2],
}

impl CustomFunction for SumAndProduct {
    fn backward(&self, gradients: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
        let [Some(sum), Some(product)] = &*gradients else { return Ok(Vec::new()) };
        let [a, b] = &self.inputs;
        Ok(vec![Some(sum.add(&product.mul(b)?)?), Some(sum.add(&product.mul(a)?)?)])
    }
}

#[test]
fn custom_function_has_one_node_for_several_results() {
    let inputs = [leaf(&[2.0]), leaf(&[3.0])];
    let results = {
        let _mode = no_grad();
        [inputs[0].add(&inputs[1]).unwrap(), inputs[0].mul(&inputs[1]).unwrap()]
    };
    let function = SumAndProduct { inputs: [inputs[0].detach(), inputs[1].detach()] };
    let call = CustomRecord::new("SumAndProductBackward", &inputs, &results);
    let forward = record(&call, Arc::new(function)).unwrap();
    let [sum, product] = &*forward.results else { panic!("two results") };
    assert_eq!((sum.output_nr(), product.output_nr()), (Ok(0), Ok(1)));
    assert_eq!(forward.node.unwrap().name(), "SumAndProductBackward");
    sum.add(&product.mul(10.0).unwrap()).unwrap().backward().unwrap();
    assert_eq!((gradient(&inputs[0]), gradient(&inputs[1])), (vec![31.0], vec![21.0]));
    // A result without a gradient counts as zeros.
    product.backward().unwrap();
    assert_eq!((gradient(&inputs[0]), gradient(&inputs[1])), (vec![34.0], vec![23.0]));
}

#[test]
fn custom_function_with_too_few_gradients_is_an_error() {
    struct Nothing;
    impl CustomFunction for Nothing {
        fn backward(&self, _: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
            Ok(Vec::new())
        }
    }
    let inputs = [leaf(&[2.0])];
    let results = [inputs[0].detach()];
    let call = CustomRecord::new("NothingBackward", &inputs, &results);
    let forward = record(&call, Arc::new(Nothing)).unwrap();
    let node = "NothingBackward".into();
    assert_eq!(forward.results[0].backward(), Err(Error::GradientCount { node, expected: 1, given: 0 }));
}

#[test]
fn saved_tensor_hooks_replace_saved_tensors() {
    struct Negate;
    impl SavedTensorHooks for Negate {
        fn pack(&self, tensor: &Tensor) -> Result<Arc<dyn PackedTensor>> {
            Ok(Arc::new(Negated(tensor.neg()?)))
        }
    }
    struct Negated(Tensor);
    impl PackedTensor for Negated {
        fn unpack(&self) -> Result<Tensor> {
            self.0.neg()
        }
    }
    let x = leaf(&[3.0]);
    let hooks = saved_tensor_hooks_context(Arc::new(Negate));
    hooks.enter().unwrap();
    let y = x.mul(&x).unwrap();
    hooks.exit();
    y.backward().unwrap();
    assert_eq!(gradient(&x), [6.0]);
}

#[test]
fn anomaly_mode_reports_the_stack_of_the_failing_node() {
    let stack = || Some(ForwardStack::new("train.py:3".to_owned(), "line 3\n".to_owned()));
    set_forward_stack_provider(stack);
    let mode = ModeContext::new(ModeKind::DetectAnomaly);
    mode.enter();
    let y = leaf(&[0.0]).log().unwrap().mul(0.0).unwrap();
    let error = y.backward().unwrap_err();
    mode.exit();
    let expected = Error::Anomaly {
        node: "LogBackward0".into(),
        stack: stack().map(Arc::new),
        error: Box::new(Error::NanGradient { node: "LogBackward0".into(), input: 0 }),
    };
    assert_eq!(error, expected);
    assert!(error.to_string().ends_with("; the forward operation was called at train.py:3"));
    // Outside of the mode NaN is a number like any other.
    let x = leaf(&[0.0]);
    x.log().unwrap().mul(0.0).unwrap().backward().unwrap();
    assert!(gradient(&x)[0].is_nan());
}

/// Registers a hook that logs which gradients it receives.
fn log_gradients(tensors: &[Tensor], mode: MultiGradMode) -> Arc<Mutex<Vec<Vec<bool>>>> {
    let log = Arc::new(Mutex::new(Vec::new()));
    let calls = log.clone();
    let hook = move |gradients: &[Option<Tensor>]| {
        calls.lock().unwrap().push(gradients.iter().map(Option::is_some).collect());
        Ok(())
    };
    register_multi_grad_hook(tensors, Arc::new(hook), mode).unwrap();
    log
}

#[test]
fn multi_grad_hook_waits_for_the_gradients_of_a_pass() {
    let (a, b) = (leaf(&[1.0]), leaf(&[2.0]));
    let (c, d) = (a.mul(&b).unwrap(), a.mul(&b).unwrap());
    let all = log_gradients(&[a.clone(), b.clone(), c.clone(), d], MultiGradMode::All);
    let any = log_gradients(&[a.clone(), c.clone()], MultiGradMode::Any);
    let outputs = [c];
    let args =
        BackwardArgs { outputs: &outputs, gradients: &[None], retain_graph: true, create_graph: false };
    backward(&args, None).unwrap();
    backward(&args, Some(&[a])).unwrap();
    grad(&args, &[b], false).unwrap();
    let expected = [[true, true, true, false], [true, false, true, false], [false, true, true, false]];
    assert_eq!(*all.lock().unwrap(), expected);
    assert_eq!(*any.lock().unwrap(), [[true]; 3]);
}

#[test]
fn multi_grad_hook_of_a_tensor_without_grad_is_not_registered() {
    let (a, plain) = (leaf(&[1.0]), Tensor::from_slice(&[1.0], &[1]).unwrap());
    let hook = Arc::new(|_: &[Option<Tensor>]| -> Result<()> { panic!("the hook was registered") });
    let result = register_multi_grad_hook(&[a.clone(), plain], hook, MultiGradMode::All);
    assert!(matches!(result, Err(Error::NoGraph { op: "register_multi_grad_hook" })));
    a.mul(2.0).unwrap().backward().unwrap();
}

#[test]
fn gradient_edge_replaces_its_tensor() {
    let x = leaf(&[3.0]);
    let y = x.mul(2.0).unwrap();
    let (edge, node) = (GradientEdge::of(&y).unwrap(), y.grad_fn().unwrap().unwrap());
    assert!(matches!(edge.node(), NextFunction::Node(found) if Arc::ptr_eq(&found, &node)));
    assert!(GradientEdge::new(NextFunction::Node(node), 1).is_err());
    assert!(GradientEdge::of(&y.detach()).is_err());
    let outputs = [EdgeOrTensor::from(y.mul(&y).unwrap())];
    let args =
        BackwardArgs { outputs: &outputs, gradients: &[None], retain_graph: true, create_graph: false };
    let inputs = [edge.clone().into(), GradientEdge::of(&x).unwrap().into()];
    let gradients = grad(&args, &inputs, false).unwrap();
    let values = |gradient: &Option<Tensor>| gradient.as_ref().unwrap().to_vec::<f64>().unwrap();
    assert_eq!(gradients.iter().map(values).collect::<Vec<_>>(), [[12.0], [24.0]]);
    let edges = [edge];
    let args = BackwardArgs { outputs: &edges, gradients: &[None], retain_graph: false, create_graph: false };
    backward(&args, None).unwrap();
    assert_eq!((gradient(&x), y.retains_grad()), (vec![2.0], false));
}

#[test]
fn saved_tensor_hooks_are_disabled_in_a_scope() {
    struct Identity;
    impl SavedTensorHooks for Identity {
        fn pack(&self, tensor: &Tensor) -> Result<Arc<dyn PackedTensor>> {
            Ok(Arc::new(Packed(tensor.clone())))
        }
    }
    struct Packed(Tensor);
    impl PackedTensor for Packed {
        fn unpack(&self) -> Result<Tensor> {
            Ok(self.0.clone())
        }
    }
    let hooks = saved_tensor_hooks_context(Arc::new(Identity));
    let disabled = SavedTensorHooksDisabledContext::new("not here");
    disabled.enter().unwrap();
    assert_eq!(hooks.enter().map_err(|error| error.to_string()), Err("not here".to_owned()));
    assert!(hooks.guard().is_err());
    disabled.exit();
    let _guard = hooks.guard().unwrap();
    assert!(disabled.enter().is_err() && disabled.guard().is_err());
}

#[test]
fn views_report_their_base() {
    let x = leaf(&[1.0, 2.0]);
    let view = x.select(0, 0).unwrap().view(&[1]).unwrap();
    assert!(view.is_view() && view.base().unwrap().is(&x));
    assert!(!x.is_view() && !view.detach().is_view());
    let before = x.version().unwrap();
    view.increment_version();
    assert_eq!(x.version().unwrap(), before + 1);
}
