//! Messages between ranks that share a beam (rows of tensors, from device to device if possible), and the cut over
//! all ranks.

use crate::error::Result;
use crate::exchange::{DIGIT, Exchange};
use crate::tensors::host_numbers;
use tch::{Device, Kind, Tensor};

/// The bits of a number and of the hash that orders equal numbers.
const KEY_BITS: u32 = 96;

/// The `count` least numbers of all ranks, infinite ones excluded. Returns the indices of those on this rank, in ascending
/// order of the numbers if `sorted`; the numbers themselves; and whether others were left out. `own` numbers of this rank are
/// finite. If several ranks share the search, hashes break ties.
///
/// # Errors
/// If the exchange fails.
pub(super) fn least(
    exchange: &dyn Exchange,
    (plain, own): (&Tensor, u64),
    hashes: &Tensor,
    count: u64,
    sorted: bool,
) -> Result<(Tensor, Tensor, bool)> {
    let all: u64 = exchange.gather(own)?.iter().sum();
    let is_cut = all > count;
    if !is_cut && sorted {
        let (numbers, order) = plain.sort_stable(true, 0, false);
        return Ok((order.narrow(0, 0, own as i64), numbers.narrow(0, 0, own as i64), is_cut));
    }
    if !is_cut || exchange.is_alone() {
        let (numbers, least) = plain.topk(own.min(count) as i64, 0, false, sorted);
        return Ok((least, numbers, is_cut));
    }
    let numbers = ordered(plain);
    let digit = |numbers: &Tensor, hashes: &Tensor, from: u32| {
        let from = i64::from(from);
        let bits = match from - 64 {
            0.. => numbers.bitwise_right_shift_tensor_scalar(from - 64),
            // The last bits of the number, and the first of the hash.
            -11..0 => {
                let first = hashes.bitwise_right_shift_tensor_scalar(from).bitwise_and((1 << (64 - from)) - 1);
                numbers.bitwise_left_shift_tensor_scalar(64 - from).bitwise_or_tensor(&first)
            }
            _ => hashes.bitwise_right_shift_tensor_scalar(from),
        };
        bits.bitwise_and((1 << DIGIT) - 1)
    };
    let mut left = (numbers.shallow_clone(), hashes.shallow_clone());
    let last = exchange.split(count.max(1), KEY_BITS, |from, before| {
        if let Some(before) = before {
            let is_left = digit(&left.0, &left.1, from + DIGIT).eq(before as i64).nonzero().flatten(0, 1);
            left = (left.0.index_select(0, &is_left), left.1.index_select(0, &is_left));
        }
        let bins = digit(&left.0, &left.1, from).bincount(None::<&Tensor>, 1 << DIGIT);
        host_numbers::<i64>(&bins).into_iter().map(|bin| bin as u64).collect()
    })?;
    let (number, hash) = ((last >> 64) as i64, last as i64);
    // As signed integers, hashes have the order of unsigned ones once their first bit is flipped.
    let is_before = hashes.bitwise_xor(i64::MIN).le(hash ^ i64::MIN);
    let is_least = numbers.less(number).logical_or(&numbers.eq(number).logical_and(&is_before));
    let least = is_least.nonzero().flatten(0, 1);
    let order = numbers.index_select(0, &least).argsort_stable(true, 0, false);
    let least = least.index_select(0, &order);
    Ok((least.shallow_clone(), plain.index_select(0, &least), true))
}

/// The bits of f32 numbers as integers below 2³² in the same order.
fn ordered(numbers: &Tensor) -> Tensor {
    let bits = numbers.view_dtype(Kind::Int).to_kind(Kind::Int64);
    (&bits + (1i64 << 31)).where_self(&bits.ge(0), &bits.bitwise_not())
}

/// The rank that owns each hash, by its upper half.
pub(super) fn owners(exchange: &dyn Exchange, hashes: &Tensor) -> Tensor {
    let upper = hashes.bitwise_right_shift_tensor_scalar(32).bitwise_and(i64::from(u32::MAX));
    (upper * exchange.size() as i64).bitwise_right_shift_tensor_scalar(32)
}

/// Sends each row to a rank. Returns the rows that all ranks have sent to this one, and the rank of each.
///
/// # Errors
/// If the exchange fails.
pub(super) fn deliver(exchange: &dyn Exchange, rows: &Tensor, to: &Tensor) -> Result<(Tensor, Tensor)> {
    let (order, counts) = by_rank(exchange, to);
    let (rows, counts) = send(exchange, &rows.index_select(0, &order), &counts)?;
    let counts = Tensor::from_slice(&counts).to_device(rows.device());
    Ok((rows, Tensor::repeat_interleave(&counts, None)))
}

/// Fetches rows of tensors that the ranks hold: each by its rank and its index there. This rank's are `own`.
///
/// # Errors
/// If the exchange fails.
pub(super) fn fetch(exchange: &dyn Exchange, own: &Tensor, ranks: &Tensor, indices: &Tensor) -> Result<Tensor> {
    let (order, counts) = by_rank(exchange, ranks);
    let (asked, counts) = send(exchange, &indices.index_select(0, &order).unsqueeze(1), &counts)?;
    let (rows, _) = send(exchange, &own.index_select(0, &asked.flatten(0, 1)), &counts)?;
    Ok(rows.zeros_like().index_copy(0, &order, &rows))
}

/// The order of items by rank, and the number of items of each rank.
fn by_rank(exchange: &dyn Exchange, ranks: &Tensor) -> (Tensor, Vec<i64>) {
    (ranks.argsort_stable(true, 0, false), host_numbers(&ranks.bincount(None::<&Tensor>, exchange.size() as i64)))
}

/// Sends the first rows to the first rank, and so on. Returns the rows of all ranks for this one, and how many come from each.
fn send(exchange: &dyn Exchange, rows: &Tensor, counts: &[i64]) -> Result<(Tensor, Vec<i64>)> {
    let (kind, device) = (rows.kind(), rows.device());
    let row = rows.size()[1] as usize * kind.elt_size_in_bytes();
    if let Device::Cuda(index) = device {
        let lengths = counts.iter().map(|count| count.to_le_bytes().to_vec()).collect();
        let from: Vec<i64> =
            exchange.all_to_all(lengths)?.iter().map(|bytes| bytemuck::pod_read_unaligned(bytes)).collect();
        let received = Tensor::zeros([from.iter().sum(), rows.size()[1]], (kind, device));
        let rows = rows.contiguous();
        let parts = |rows: &Tensor, counts: &[i64]| {
            let mut first = 0;
            let part = |count: &i64| {
                let place = rows.data_ptr().cast::<u8>().wrapping_add(first);
                first += *count as usize * row;
                (place, *count as usize * row)
            };
            counts.iter().map(part).collect::<Vec<_>>()
        };
        // SAFETY: the rows lie there, and their memory is not reused before the device's earlier work is done.
        if unsafe { exchange.all_to_all_on_device(index, &parts(&rows, counts), &parts(&received, &from))? } {
            return Ok((received, from));
        }
    }
    let mut bytes: &[u8] = &host_numbers(&rows.contiguous().view_dtype(Kind::Uint8));
    let mut messages = Vec::new();
    for &count in counts {
        let (message, rest) = bytes.split_at(count as usize * row);
        messages.push(message.to_vec());
        bytes = rest;
    }
    let received = exchange.all_to_all(messages)?;
    let counts: Vec<i64> = received.iter().map(|message| (message.len() / row) as i64).collect();
    let received = Tensor::from_slice(&received.concat()).view([counts.iter().sum(), row as i64]);
    Ok((received.to_device(device).view_dtype(kind), counts))
}
