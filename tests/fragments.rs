//! Fragments and layouts: who holds which element of a matrix, and what bits mean, as the reference shows them.
#![cfg(feature = "reference")]

use std::collections::{BTreeMap, HashSet};

use ptx_isa::TABLE;
use ptx_isa::reference::REFERENCE;
use ptx_isa::reference::page::{Fragment, Page};
use ptx_isa::table::{FormInfo, OperandKind};

/// Every fragment with its page.
fn fragments() -> impl Iterator<Item = (&'static Page, &'static Fragment)> {
    REFERENCE.pages().into_iter().flat_map(|page| page.fragments.iter().map(move |fragment| (page, fragment)))
}

fn forms(page: &Page) -> Vec<FormInfo> {
    TABLE.instructions().find(|info| info.data().opcode == page.opcode).expect("it is in the table").forms().collect()
}

/// Returns the matrix, row and column of a lane's element.
fn place(fragment: &Fragment, lane: u32, element: u32) -> Vec<[u32; 3]> {
    let Fragment { rows, columns, high, wide, .. } = *fragment;
    let (down, across) = (rows / high, columns / wide);
    let cells = fragment.lanes.iter().zip(fragment.elements).enumerate();
    let found = cells.flat_map(|(cell, (of, first))| {
        let cell = cell as u32;
        let [matrix, row, column] = [cell / across / down, cell / across % down * high, cell % across * wide];
        (0..high * wide).map(move |next| {
            let place = if high > 1 { [matrix, row + next, column] } else { [matrix, row, column + next] };
            ((u32::from(*of), u32::from(*first) + next), place)
        })
    });
    found.filter(|(holder, _)| *holder == (lane, element)).map(|(_, place)| place).collect()
}

#[test]
fn each_element_is_held_once() {
    let mut count = 0;
    for (page, fragment) in fragments() {
        let name = format!("{}, {} of {} times {}", page.opcode, fragment.name, fragment.registers, fragment.parts);
        let mut places = HashSet::new();
        for lane in 0..32 {
            for element in 0..fragment.registers * fragment.parts {
                let found = place(fragment, lane, element);
                assert_eq!(found.len(), 1, "{name}: element {element} of lane {lane} is at {found:?}");
                assert!(places.insert(found[0]), "{name}: {found:?} is held twice");
                count += 1;
            }
        }
        assert_eq!(places.len() as u32, fragment.matrices * fragment.rows * fragment.columns, "{name}");
        // Every element appears in exactly one displayed cell.
        let cells: usize = fragment.cells().iter().flatten().map(Vec::len).sum();
        assert_eq!(cells, fragment.lanes.len(), "{name}");
        assert_eq!(fragment.cells()[0].len(), fragment.row_names().len(), "{name}");
        assert_eq!(fragment.cells()[0][0].len(), fragment.column_names().len(), "{name}");
    }
    println!("{} fragments with {count} elements", fragments().count());
    assert!(count > 10_000, "{count}");
}

/// `m16n8k32` names the rows and columns of all matrices of a product: a is m by k, b is k by n, c and d are m by n.
#[test]
fn sizes_are_those_that_a_shape_says_and_registers_those_of_the_operands() {
    let mut checked = 0;
    for (page, fragment) in fragments() {
        let forms = forms(page);
        for held in fragment.held {
            for form in held.forms.iter().map(|place| forms[*place as usize]) {
                let operand = form.operands().iter().find(|operand| operand.name == held.operand).expect("an operand");
                let (registers, bits) = match operand.kind {
                    OperandKind::Vector(count) => (u32::from(count), TABLE.ty(operand.ty).bits),
                    _ => (1, TABLE.ty(operand.ty).bits),
                };
                assert_eq!((registers, u32::from(bits) % fragment.parts), (fragment.registers, 0), "{form:?}");
                let Some([m, n, k]) = form.mnemonic().split('.').find_map(shape) else { continue };
                let sparse = u32::from(form.mnemonic().contains(".sp"));
                // A load transfers the matrix that the opcode names.
                let loaded = form.mnemonic().strip_prefix("wmma.load.").and_then(|rest| rest.get(..1));
                // A warp holds 16 rows of what a warpgroup multiplies.
                let m = m.min(if m == 64 { 16 } else { m });
                let size = match loaded.unwrap_or(held.operand) {
                    "a" => (m, k >> sparse),
                    // An index is of a stored element, of two of four bits, or of a half of one of TF32.
                    "e" if form.mnemonic().contains("tf32") => (m, k),
                    "e" if ["u4", "s4", "kind::mxf4", "k128"].iter().any(|word| form.mnemonic().contains(word)) => {
                        (m, k / 4)
                    }
                    "e" => (m, k / 2),
                    "b" => (k, n),
                    _ => (m, n),
                };
                assert_eq!((fragment.rows, fragment.columns), size, "{} of {}", held.operand, form.mnemonic());
                checked += 1;
            }
        }
    }
    println!("{checked} operands of forms have the size of their shape");
    assert!(checked > 200, "{checked}");
}

/// `m16n8k32` as three numbers.
fn shape(word: &str) -> Option<[u32; 3]> {
    let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?])
}

/// Elements of the manual's figures, by hand.
#[test]
fn the_manual_s_places() {
    let mut of: BTreeMap<(&str, &str), &Fragment> = BTreeMap::new();
    for (page, fragment) in fragments() {
        let forms = forms(page);
        for held in fragment.held {
            let held_by = held.forms.iter().map(|place| ((forms[*place as usize].mnemonic(), held.operand), fragment));
            of.extend(held_by);
        }
    }
    for (mnemonic, operand, lane, element, wanted) in [
        ("mma.m16n8k16.f32.f16.f16.f32", "a", 0, 2, [0, 8, 0]),
        ("mma.m16n8k16.f32.f16.f16.f32", "a", 5, 6, [0, 9, 10]),
        ("mma.m16n8k16.f32.f16.f16.f32", "b", 5, 3, [0, 11, 1]),
        ("mma.m16n8k16.f32.f16.f16.f32", "d", 7, 3, [0, 9, 7]),
        ("mma.m16n8k16.f16.f16.f16.f16", "d", 7, 3, [0, 9, 7]),
        ("mma.m16n8k16.f32.bf16.bf16.f32", "a", 31, 7, [0, 15, 15]),
        ("mma.m16n8k8.f32.tf32.tf32.f32", "a", 6, 1, [0, 9, 2]),
        ("mma.m16n8k8.f32.tf32.tf32.f32", "a", 6, 2, [0, 1, 6]),
        ("mma.m16n8k16.f64.f64.f64.f64", "a", 9, 5, [0, 10, 9]),
        ("mma.m8n8k4.f64.f64.f64.f64", "a", 9, 0, [0, 2, 1]),
        ("mma.m8n8k4.f64.f64.f64.f64", "b", 9, 0, [0, 1, 2]),
        ("mma.m8n8k4.f32.f16.f16.f32", "c", 17, 7, [0, 7, 5]),
        ("mma.m8n8k4.f16.f16.f16.f16", "c", 21, 6, [1, 5, 6]),
        ("mma.m16n8k32.s32.s8.u8.s32", "a", 6, 9, [0, 1, 25]),
        ("mma.m16n8k32.s32.s8.u8.s32", "b", 6, 5, [0, 25, 1]),
        ("mma.m16n8k64.s32.s4.u4.s32", "a", 6, 9, [0, 9, 17]),
        ("ldmatrix.m8n8.x4.b16", "d", 30, 5, [2, 7, 5]),
        ("ldmatrix.m16n16.x2.b8", "d", 30, 13, [1, 15, 9]),
        ("stmatrix.x2.b8", "b", 9, 7, [1, 10, 3]),
        ("mma.sp.m16n8k16.f32.f16.f16.f32", "e", 6, 9, [2, 9, 1]),
        ("mma.sp.m16n8k32.f32.f16.f16.f32", "e", 7, 9, [1, 9, 9]),
        ("mma.sp.m16n8k32.s32.s8.s8.s32", "e", 7, 9, [1, 9, 9]),
        ("mma.sp.m16n8k64.s32.s8.s8.s32", "e", 6, 9, [0, 1, 25]),
    ] {
        let fragment = of.get(&(mnemonic, operand)).unwrap_or_else(|| panic!("{operand} of {mnemonic}"));
        assert_eq!(place(fragment, lane, element), [wanted], "{operand} of {mnemonic}");
    }
}

/// Bits of a layout are of one field; cells show all of them, the highest first.
#[test]
fn each_bit_means_one_thing() {
    let pages = REFERENCE.pages();
    let layouts: Vec<_> = pages.iter().flat_map(|page| page.layouts).collect();
    for layout in &layouts {
        let mut next = layout.bits;
        for (count, bits, name) in layout.cells() {
            let high: u32 = bits.split(':').next().and_then(|high| high.parse().ok()).expect("a number");
            let low: u32 = bits.split(':').next_back().and_then(|low| low.parse().ok()).expect("a number");
            assert_eq!((high + 1, count), (next, next - low), "{}: {bits} {name}", layout.name);
            let field = layout.fields.iter().find(|field| field.name == name);
            assert_eq!(field.map_or((low, high), |field| (field.low, field.high)), (low, high), "{}", layout.name);
            next = low;
        }
        assert_eq!(next, 0, "{}", layout.name);
    }
    let names: HashSet<&str> = layouts.iter().map(|layout| layout.name).collect();
    println!("{} layouts on {} pages", names.len(), pages.iter().filter(|page| !page.layouts.is_empty()).count());
    assert!(names.len() >= 6, "{names:?}");
}

/// A form shows its own fragments, not all of its opcode's.
#[test]
fn a_form_has_its_own() {
    let form = TABLE.form("mma.m8n8k4.f64.f64.f64.f64").expect("a form");
    let page = REFERENCE.form(form).expect("a page");
    let operands: Vec<_> = page.fragments().into_iter().map(|(_, operands)| operands.concat()).collect();
    assert_eq!(operands, ["dc", "a", "b"]);
    let none = TABLE.form("selp.b32").and_then(|form| REFERENCE.form(form)).expect("a page");
    assert!(none.fragments().is_empty());
}
