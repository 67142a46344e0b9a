//! Values as bytes: what a check and a submission exchange.
//!
//! Numbers are little-endian; a list has its length before it, and a tensor its dtype, its shape and its elements.

use candle_core::{DType, Device, Result as Candle, Tensor};

/// A value that is sent.
pub trait Sent: Sized {
    /// Appends its bytes.
    fn put(&self, bytes: &mut Vec<u8>);

    /// Reads it from the start of `bytes`, which then begin after it; `None` if they are no such value.
    fn take(bytes: &mut &[u8]) -> Option<Self>;
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Sent for $number {
            fn put(&self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }

            fn take(bytes: &mut &[u8]) -> Option<Self> {
                bytes.split_off(..size_of::<Self>())?.try_into().ok().map(Self::from_le_bytes)
            }
        }
    )*};
}

numbers!(u8 i8 u32 u64 f32 f64);

impl Sent for usize {
    fn put(&self, bytes: &mut Vec<u8>) {
        (*self as u64).put(bytes);
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        u64::take(bytes)?.try_into().ok()
    }
}

impl Sent for bool {
    fn put(&self, bytes: &mut Vec<u8>) {
        u8::from(*self).put(bytes);
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        Some(u8::take(bytes)? != 0)
    }
}

impl Sent for String {
    fn put(&self, bytes: &mut Vec<u8>) {
        self.len().put(bytes);
        bytes.extend(self.as_bytes());
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let len = usize::take(bytes)?;
        String::from_utf8(bytes.split_off(..len)?.to_vec()).ok()
    }
}

impl<T: Sent> Sent for Vec<T> {
    fn put(&self, bytes: &mut Vec<u8>) {
        self.len().put(bytes);
        self.iter().for_each(|one| one.put(bytes));
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let len = usize::take(bytes)?;
        // Each takes a byte at least, so a length that was made up reserves nothing.
        (len <= bytes.len()).then_some(())?;
        (0..len).map(|_| T::take(bytes)).collect()
    }
}

impl<T: Sent, E: Sent> Sent for Result<T, E> {
    fn put(&self, bytes: &mut Vec<u8>) {
        self.is_ok().put(bytes);
        match self {
            Ok(value) => value.put(bytes),
            Err(error) => error.put(bytes),
        }
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        Some(if bool::take(bytes)? {
            Ok(T::take(bytes)?)
        } else {
            Err(E::take(bytes)?)
        })
    }
}

impl<T: Sent> Sent for [T; 3] {
    fn put(&self, bytes: &mut Vec<u8>) {
        self.iter().for_each(|one| one.put(bytes));
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        Some([T::take(bytes)?, T::take(bytes)?, T::take(bytes)?])
    }
}

impl Sent for () {
    fn put(&self, _: &mut Vec<u8>) {}

    fn take(_: &mut &[u8]) -> Option<Self> {
        Some(())
    }
}

macro_rules! tuples {
    ($(($($name:ident)*))*) => {$(
        impl<$($name: Sent),*> Sent for ($($name,)*) {
            #[allow(non_snake_case)]
            fn put(&self, bytes: &mut Vec<u8>) {
                let ($($name,)*) = self;
                $($name.put(bytes);)*
            }

            fn take(bytes: &mut &[u8]) -> Option<Self> {
                Some(($($name::take(bytes)?,)*))
            }
        }
    )*};
}

tuples!((A)(A B)(A B C)(A B C D)(A B C D E));

impl Sent for Tensor {
    /// Other dtypes than f32 are sent as f64. A tensor that cannot be read has no bytes, so that the reader finds none.
    fn put(&self, bytes: &mut Vec<u8>) {
        let Ok(elements) = elements(self) else { return };
        (self.dtype() != DType::F32).put(bytes);
        self.dims().to_vec().put(bytes);
        bytes.extend(elements);
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let is_f64 = bool::take(bytes)?;
        let dims = Vec::<usize>::take(bytes)?;
        let count = dims.iter().try_fold(1usize, |all, &n| all.checked_mul(n))?;
        let size = if is_f64 { 8 } else { 4 };
        let data = bytes.split_off(..count.checked_mul(size)?)?;
        let dtype = if is_f64 { DType::F64 } else { DType::F32 };
        Tensor::from_raw_buffer(data, dtype, &dims, &Device::Cpu).ok()
    }
}

/// The elements of a tensor as f32 or f64, in the order of its indices.
fn elements(tensor: &Tensor) -> Candle<Vec<u8>> {
    let flat = tensor.flatten_all()?;
    Ok(match tensor.dtype() {
        DType::F32 => {
            let all = flat.to_vec1::<f32>()?;
            all.into_iter().flat_map(f32::to_le_bytes).collect()
        }
        _ => {
            let all = flat.to_dtype(DType::F64)?.to_vec1::<f64>()?;
            all.into_iter().flat_map(f64::to_le_bytes).collect()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back<T: Sent>(value: &T) -> Option<T> {
        let mut bytes = vec![];
        value.put(&mut bytes);
        let mut rest = &bytes[..];
        let back = T::take(&mut rest);
        assert!(rest.is_empty());
        // No prefix of it is a value.
        for len in 0..bytes.len() {
            assert!(T::take(&mut &bytes[..len]).is_none(), "{len}");
        }
        back
    }

    #[test]
    fn values_come_back() {
        let value = (
            (1u8, -2i8, f32::NEG_INFINITY),
            vec![3.5f64],
            "four".to_owned(),
        );
        assert_eq!(there_and_back(&value), Some(value));
        for result in [Ok::<_, usize>(vec![true, false]), Err(7)] {
            assert_eq!(there_and_back(&result), Some(result));
        }
        assert!(there_and_back(&f32::NAN).unwrap().is_nan());
    }

    #[test]
    fn a_tensor_comes_back_in_order() {
        let x = Tensor::arange(0f32, 6., &Device::Cpu).unwrap();
        let turned = x.reshape((2, 3)).unwrap().t().unwrap();
        for dtype in [DType::F32, DType::F64] {
            let back = there_and_back(&turned.to_dtype(dtype).unwrap()).unwrap();
            assert_eq!((back.dims(), back.dtype()), (&[3, 2][..], dtype));
            let rows: Vec<Vec<f64>> = back.to_dtype(DType::F64).unwrap().to_vec2().unwrap();
            assert_eq!(rows, [[0., 3.], [1., 4.], [2., 5.]]);
        }
    }

    #[test]
    fn sizes_that_are_made_up_are_refused() {
        let mut bytes = vec![];
        (u64::MAX, u64::MAX).put(&mut bytes);
        assert!(Vec::<f64>::take(&mut &bytes[..]).is_none());
        assert!(String::take(&mut &bytes[..]).is_none());
        let mut bytes = vec![0];
        vec![usize::MAX, usize::MAX].put(&mut bytes);
        assert!(Tensor::take(&mut &bytes[..]).is_none());
        let mut bytes = vec![1];
        vec![1usize << 61].put(&mut bytes);
        assert!(Tensor::take(&mut &bytes[..]).is_none());
    }
}
