//! Writes models of one node as files of ONNX: messages of protobuf.
//!
//! Source: `onnx/onnx.proto` of ONNX 1.12, which has the numbers of the fields.

/// A message: fields, each with its number, the type of its value and the value.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn integer(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn message(self, field: u64, message: Message) -> Self {
        self.bytes(field, &message.0)
    }
}

/// A node: its operator, the domain of that, and its inputs.
pub struct Node<'a> {
    pub domain: &'a str,
    pub op: &'a str,
    pub inputs: &'a [&'a str],
}

/// The number of float32 among the types of elements.
const FLOAT: u64 = 1;

/// Returns a model whose only node computes the square matrix `y` from the matrix `x`, and from `weight` if it is given.
pub fn model(node: &Node<'_>, size: usize, weight: Option<&[f32]>) -> Vec<u8> {
    let inputs = node.inputs.iter();
    let call = inputs.fold(Message::default(), |call, input| call.bytes(1, input.as_bytes()));
    let call = call.bytes(2, b"y").bytes(4, node.op.as_bytes()).bytes(7, node.domain.as_bytes());
    let graph = Message::default().message(1, call).bytes(2, b"graph");
    let graph = match weight {
        Some(weight) => graph.message(5, tensor("weight", size, weight)),
        None => graph,
    };
    let graph = graph.message(11, value("x", size)).message(12, value("y", size));
    // Version 8 of the format, and version 17 of ONNX's operators.
    Message::default()
        .integer(1, 8)
        .message(7, graph)
        .message(8, Message::default().bytes(1, b"").integer(2, 17))
        .message(8, Message::default().bytes(1, super::DOMAIN.as_bytes()).integer(2, 1))
        .0
}

fn tensor(name: &str, size: usize, values: &[f32]) -> Message {
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let sizes = Message::default().integer(1, size as u64).integer(1, size as u64);
    sizes.integer(2, FLOAT).bytes(8, name.as_bytes()).bytes(9, &data)
}

fn value(name: &str, size: usize) -> Message {
    let dimension = || Message::default().integer(1, size as u64);
    let shape = Message::default().message(1, dimension()).message(1, dimension());
    let tensor = Message::default().integer(1, FLOAT).message(2, shape);
    Message::default().bytes(1, name.as_bytes()).message(2, Message::default().message(1, tensor))
}
