//! Every matrix product of a warp whose operands are registers, in a kernel: each block computes one tile, and the results
//! are those of [`Product`].

use std::cell::Cell;
use std::fmt::Write;

use crate::machine::on_one_thread;
use crate::model::{Random, input};
use ptx_isa::TABLE;
use ptx_isa::matrix::{Lanes, Layout, Metadata, Product};
use ptx_isa::run::Grid;
use ptx_isa::table::{ABSENT, FormInfo, Free, Kind, Operand, OperandKind, TypeId};
use ptx_isa::target::{Target, Version};
use ptx_isa::text::spelling;

/// The target that the kernels are for.
const SM: u16 = 90;
const PTX: Version = Version { major: 9, minor: 0 };

/// Tiles of a launch.
const TILES: usize = 24;

/// The ways to write a form: as it is listed, and with another member of each free modifier.
fn ways(form: FormInfo) -> Vec<Free> {
    let Some(canonical) = spelling::canonical(form) else { return Vec::new() };
    let (mut ways, instruction) = (vec![canonical], form.instruction());
    let slots = instruction.data().slots;
    for item in form.syntax().items.iter().filter(|item| slots[usize::from(item.slot)].free) {
        for member in (0..ABSENT).filter(|member| item.members >> member & 1 == 1) {
            let mut values = form.values().to_vec();
            for slot in (0..slots.len()).filter(|slot| slots[*slot].free) {
                let word = form.modifier(&canonical, slot as u8);
                let place = word.and_then(|word| slots[slot].members.iter().position(|other| *other == word));
                values[slot] = place.map_or(ABSENT, |place| place as u8);
            }
            values[usize::from(item.slot)] = member;
            let free = Free::of(instruction, &values);
            let known = ways.iter().any(|other| form.mnemonic_with(other) == form.mnemonic_with(&free));
            if !known && form.refusals(&free).next().is_none() {
                ways.push(free);
            }
        }
    }
    ways.retain(|free| spelling::is_taken_with(form, free, Some(PTX), Some(Target::sm(SM))));
    ways
}

/// Fragments that `wmma.load` leaves in registers: each element of a matrix in memory is its index, a part of its bits in each
/// launch.
#[test]
fn fragments_in_kernels_are_those_of_the_library() {
    let mut count = 0;
    for form in TABLE.forms().filter(|form| form.instruction().data().opcode.starts_with("wmma.load.")) {
        for free in ways(form) {
            let mnemonic = form.mnemonic_with(&free);
            if mnemonic.contains(".shared") {
                continue;
            }
            let operand = form.operands().get(0).expect("a destination");
            let layout = Layout::new(form, operand, &free).unwrap_or_else(|| panic!("the layout of `{mnemonic}`"));
            let by_rows = mnemonic.contains(".row");
            let index = |row: usize, column: usize| match by_rows {
                true => row * layout.columns + column,
                false => column * layout.rows + row,
            };
            for part in 0..(9 / layout.bits).max(1) {
                count += 1;
                let mask = u64::MAX >> (64 - layout.bits);
                let element = |index: usize| index as u64 >> (part * layout.bits) & mask;
                let per_word = 64 / layout.bits as usize;
                let image: Vec<u64> = (0..(layout.rows * layout.columns).div_ceil(per_word))
                    .map(|word| {
                        (0..per_word)
                            .fold(0, |bits, at| bits | element(word * per_word + at) << (at as u32 * layout.bits))
                    })
                    .collect();
                let mut expected = vec![[0; 32]; layout.registers];
                for matrix in 0..layout.matrices {
                    for place in 0..layout.rows * layout.columns {
                        let (row, column) = (place / layout.columns, place % layout.columns);
                        let at = matrix * layout.rows * layout.columns + place;
                        layout.set(&mut expected, at, element(index(row, column)));
                    }
                }
                let bits = TABLE.ty(operand.ty).bits;
                let names: Vec<String> = (0..layout.registers).map(|register| format!("%d{register}")).collect();
                let mut stores = String::new();
                for (register, name) in names.iter().enumerate() {
                    writeln!(stores, "st.global.b{bits} [%base+{}], {name};", 8 * register).unwrap();
                }
                let text = format!(
                    ".version {PTX}\n.target sm_{SM}\n.address_size 64\n\
                    .visible .entry load(.param .u64 image, .param .u64 registers)\n{{\n\
                    .reg .b64 %image, %base, %distance; .reg .b32 %thread; .reg .{} %d<{}>;\n\
                    ld.param.u64 %image, [image]; ld.param.u64 %base, [registers];\n\
                    mov.u32 %thread, %tid.x; mul.wide.u32 %distance, %thread, {}; add.u64 %base, %base, %distance;\n\
                    {mnemonic} {{{}}}, [%image];\n{stores}ret;\n}}\n",
                    register_type(operand),
                    layout.registers,
                    8 * layout.registers,
                    names.join(", "),
                );
                on_one_thread(&text, |machine| {
                    let held = vec![0_u64; 32 * layout.registers];
                    let (image, registers) = (machine.upload(&image), machine.upload(&held));
                    machine.run("load", Grid::new(1, 32), &[image.into(), registers.into()]);
                    let found = machine.download::<u64>(registers, held.len());
                    for (lane, found) in found.chunks(layout.registers).enumerate() {
                        let expected: Vec<u64> = expected.iter().map(|register| register[lane]).collect();
                        assert_eq!(found, expected, "{mnemonic}, lane {lane}");
                    }
                });
            }
        }
    }
    assert!(count > 60, "{count} fragments are few");
}

/// The register type of an operand: plain bits where they fit.
fn register_type(operand: &Operand) -> &'static str {
    let fits = || TABLE.types.iter().enumerate().filter(|(index, _)| operand.registers.has(TypeId(*index as u8)));
    let plain = fits().find(|(_, ty)| ty.kind == Kind::Bits && ty.bits == TABLE.ty(operand.ty).bits);
    plain.or_else(|| fits().next()).expect("an operand in registers").1.name
}

/// Number of registers of an operand; none for constants.
fn registers(operand: &Operand) -> usize {
    match operand.kind {
        OperandKind::Vector(count) => count.into(),
        _ => usize::from(!operand.registers.is_empty()),
    }
}

/// A kernel in which each block computes one tile. All registers of all lanes are stored one after the other.
fn kernel(form: FormInfo, free: &Free, selector: u8) -> String {
    let (mut declarations, mut loads, mut stores) = (String::new(), String::new(), String::new());
    let mut statement = form.mnemonic_with(free);
    let total: usize = form.operands().iter().map(registers).sum();
    let mut at = 0;
    for (index, operand) in form.operands().iter().enumerate() {
        statement += if index == 0 { " " } else { ", " };
        let count = registers(operand);
        if count == 0 {
            write!(statement, "{selector}").unwrap();
            continue;
        }
        let name = operand.name;
        write!(declarations, ".reg .{} %{name}<{count}>; ", register_type(operand)).unwrap();
        let names: Vec<String> = (0..count).map(|register| format!("%{name}{register}")).collect();
        let list = names.join(", ");
        let braces = matches!(operand.kind, OperandKind::Vector(_)) && !operand.bare;
        statement += &if braces { format!("{{{list}}}") } else { list };
        for register in names {
            let bits = TABLE.ty(operand.ty).bits;
            let line = if operand.destination {
                writeln!(stores, "st.global.b{bits} [%base+{at}], {register};")
            } else {
                writeln!(loads, "ld.global.b{bits} {register}, [%base+{at}];")
            };
            line.unwrap();
            at += 8;
        }
    }
    format!(
        ".version {PTX}\n.target sm_{SM}\n.address_size 64\n\
        .visible .entry product(.param .u64 registers)\n{{\n\
        .reg .b64 %base, %distance; .reg .b32 %thread, %block; {declarations}\n\
        ld.param.u64 %base, [registers];\n\
        mov.u32 %thread, %tid.x; mov.u32 %block, %ctaid.x; mad.lo.u32 %thread, %block, 32, %thread;\n\
        mul.wide.u32 %distance, %thread, {}; add.u64 %base, %base, %distance;\n\
        {loads}{statement};\n{stores}ret;\n}}\n",
        8 * total
    )
}

/// The types of the elements of `a`, `b`, `c`, as the mnemonic names them.
fn elements(mnemonic: &str) -> Option<[&str; 3]> {
    let types = ["f16", "bf16", "tf32", "f32", "f64", "e4m3", "e5m2", "u8", "s8", "u4", "s4", "b1", "s32"];
    let named: Vec<&str> = mnemonic.split('.').filter(|word| types.contains(word)).collect();
    match named[..] {
        [_, a, b, c] => Some([a, b, c]),
        [_, c] => Some(["f16", "f16", c]),
        _ => None,
    }
}

/// An element of a type; the last kind has many zeros beside extremes.
fn element(random: &mut Random, ty: &str, kind: u64) -> u64 {
    match ty {
        "f64" => {
            let exponent = 1023 - 20 + random.next() % 40;
            random.next() >> 12 | exponent << 52 | random.next() << 63
        }
        "u8" | "s8" | "u4" | "s4" | "b1" | "s32" => random.next(),
        _ if kind == 5 => match random.below(4) {
            0 => input(random, ty, 3) & !input(random, ty, 4),
            way => input(random, ty, [3, 2, 4][way - 1]),
        },
        _ => input(random, ty, kind),
    }
}

/// A word of indices: pairs of different places in ascending order; for pairs of single-precision elements, one of two.
fn metadata(random: &mut Random, ty: &str) -> u64 {
    let pairs: &[u64] = if ty == "tf32" { &[0x4, 0xe] } else { &[0x4, 0x8, 0xc, 0x9, 0xd, 0xe] };
    (0..8).fold(0, |word, _| word << 4 | *random.of(pairs))
}

/// Launches a kernel with all tiles, and compares. Returns true if a card has computed the same.
fn check(form: FormInfo, free: &Free, product: &Product, selector: u8) -> bool {
    let mnemonic = form.mnemonic_with(free);
    let types = elements(&mnemonic).unwrap_or_else(|| panic!("the types of `{mnemonic}`"));
    let mut random = Random::from_text(&mnemonic, u64::from(selector));
    let total: usize = form.operands().iter().map(registers).sum();
    let mut words = vec![0_u64; TILES * 32 * total];
    let mut expected = words.clone();
    for (tile, (words, expected)) in words.chunks_mut(32 * total).zip(expected.chunks_mut(32 * total)).enumerate() {
        let matrices: Vec<Vec<Lanes>> = product.layouts()[..3]
            .iter()
            .zip(types)
            .map(|(layout, ty)| {
                let mut registers = vec![[0; 32]; layout.registers];
                for index in 0..layout.holders.len() {
                    layout.set(&mut registers, index, element(&mut random, ty, tile as u64 % 6));
                }
                registers
            })
            .collect();
        let indices: Lanes = std::array::from_fn(|_| metadata(&mut random, types[0]));
        let operands = [&matrices[0][..], &matrices[1][..], &matrices[2][..]];
        let d = if product.is_sparse() {
            product.multiply_sparse(operands, Metadata { register: &indices, selector }, None)
        } else {
            product.multiply(operands, None)
        };
        let mut sources = matrices.into_iter().chain([vec![indices]]);
        let mut at = 0;
        for operand in form.operands().iter().filter(|operand| registers(operand) > 0) {
            let (given, found) = match operand.destination {
                true => (vec![[0x5555_5555; 32]; registers(operand)], d.clone()),
                false => sources.next().map(|given| (given.clone(), given)).expect("a source"),
            };
            for (given, found) in given.iter().zip(&found) {
                for lane in 0..32 {
                    words[lane * total + at] = given[lane];
                    expected[lane * total + at] = found[lane];
                }
                at += 1;
            }
        }
    }
    let recorded = Cell::new(false);
    on_one_thread(&kernel(form, free, selector), |machine| {
        let held = machine.upload(&words);
        let ran = machine.observe("product", Grid::new(TILES as u32, 32), &[held.into()]);
        recorded.set(ran.unwrap_or_else(|error| panic!("{mnemonic}: {error}")).1);
        let found = machine.download::<u64>(held, words.len());
        // Of a destination of 32 bits the upper half is what was there.
        let same = found.iter().zip(&expected).zip(&words).position(|((found, expected), given)| {
            let whole = found == expected;
            !whole && (*found as u32 != *expected as u32 || found >> 32 != given >> 32)
        });
        assert_eq!(same, None, "{mnemonic}");
    });
    recorded.get()
}

#[test]
fn products_in_kernels_are_those_of_the_library() {
    let (mut count, mut recorded) = (0, 0);
    for form in TABLE.forms() {
        for free in ways(form) {
            let Ok(product) = Product::new(form, &free, SM) else { continue };
            let constants = form.operands().iter().find(|operand| registers(operand) == 0);
            let selectors = constants.map_or(vec![0], |operand| {
                operand.within.iter().flat_map(|range| range.least..=range.most).map(|value| value as u8).collect()
            });
            for selector in selectors {
                recorded += usize::from(check(form, &free, &product, selector));
                count += 1;
            }
        }
    }
    assert!(count > 300, "{count} products are few");
    assert_eq!(recorded, count, "a card has computed each of them");
}
