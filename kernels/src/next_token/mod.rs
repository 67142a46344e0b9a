//! next_token
