//! Guests and users: the state of a processor or of a program in a page, run in another space.

use nacre_abi::frame::{EXIT_CALL, event, kind, word};
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_proto::Errno;
use nacre_sys::{Frame, Mapping, Owned, OwnedMapping, OwnedSpace, Reference, Space, ViewPage, Window};

use super::fixture::{Fixture, pages};
use crate::figure::sample_results;

/// Pages that a space needs at least.
const POOL: u64 = 5;
/// Pages that a space needs for a view of [`VIEW_SIZE`], too.
const VIEW_POOL: u64 = 16;
/// Address of the view.
const VIEW: u64 = 0x40_0000;
/// Size of the view.
const VIEW_SIZE: u64 = 8 << 20;
/// Address of the guest's code.
const CODE: u64 = 0x1000;
/// `cpuid`, and back to it.
const INSTRUCTIONS: u64 = 0xfceb_a20f;
const LENGTH: u64 = 2;
/// Number of RBX among a frame's words.
const RBX: usize = word::REGISTERS + 3;

/// `again: mov al, [ebx]; add ebx, 0x1000; jmp again`
const READ_PAGES: [u64; 2] = [0x0000_1000_c381_038a, 0xf6eb];
/// `again: syscall; jmp again`
const CALL_ON_AND_ON: u64 = 0xfceb_050f;

/// A space with a page of code at [`CODE`], and a frame for it.
struct Scene {
    frame: Frame,
    space: OwnedSpace,
    _code: OwnedMapping,
}

impl Scene {
    fn new(fixture: &Fixture, words: &[u64], pool_pages: u64) -> Result<Scene, Errno> {
        let (code, page, pool) = (pages(1)?, pages(1)?, pages(pool_pages)?);
        let window = |at| Window::new(at, PAGE_SIZE).ok_or(Errno::EINVAL);
        let shown = window(code)?;
        words.iter().zip(0..).for_each(|(word, number)| {
            let _ = shown.write_word(8 * number, *word);
        });
        let space = OwnedSpace::make(|slot| Space::create(slot, pool, pool_pages, Reference::NONE))?;
        let rights = Rights::READ.union(Rights::EXECUTE);
        let mapping = OwnedMapping::new(space.handle(), CODE, PAGE_SIZE, fixture.region(), Fixture::offset(code), rights)?;
        let frame = Frame::begin(window(page)?, space.handle().0).ok_or(Errno::EINVAL)?;
        Ok(Scene { frame, space, _code: mapping })
    }

    /// Makes the frame that of a processor, with these attributes of its segments of code and data,
    /// and this limit.
    fn processor(&self, code: u64, data: u64, limit: u64, base: u64) {
        let segment = |number: usize, attributes: u64, base: u64| {
            self.frame.set(word::SEGMENTS + 2 * number, attributes << 16 | limit << 32);
            self.frame.set(word::SEGMENTS + 2 * number + 1, base);
        };
        (0..6).for_each(|number| segment(number, data, 0));
        segment(1, code, base);
        segment(7, 0x82, 0);
        segment(9, 0x8b, 0);
        self.frame.set(word::RFLAGS, 2);
        self.frame.set(word::DR6, 0xffff_0ff0);
    }
}

/// A guest that asks for nothing but CPUID: into it, out of it, and past the instruction.
pub fn exit(fixture: &Fixture) -> Result<u64, Errno> {
    let scene = Scene::new(fixture, &[INSTRUCTIONS], POOL)?;
    scene.processor(0x9b, 0x93, 0xffff, CODE);
    let frame = scene.frame;
    frame.set(word::CR0, 0x10);
    sample_results(200, || {
        let entered = frame.enter();
        frame.set(word::RIP, frame.get(word::RIP) + LENGTH);
        entered
    })
}

/// A guest that reads page after page of a view: its fault, `view_enter` by its monitor, and the
/// guest again.
pub fn view_fault(fixture: &Fixture) -> Result<u64, Errno> {
    let scene = Scene::new(fixture, &READ_PAGES, VIEW_POOL)?;
    let shown = Fixture::offset(pages(1)?);
    let view = Owned::make(|slot| Mapping::create_view(slot, scene.space.handle(), VIEW, VIEW_SIZE, fixture.region(), Rights::READ))?;
    scene.processor(0xc9b, 0xc93, 0xffff_ffff, 0);
    let frame = scene.frame;
    frame.set(word::CR0, 0x11);
    frame.set(word::RIP, CODE);
    frame.set(RBX, VIEW);
    let round = || {
        frame.enter()?;
        if frame.get(word::EVENT) != event::MEMORY {
            return Err(Errno::EIO);
        }
        let address = frame.get(word::INFORMATION[1]);
        view.handle().enter(&[ViewPage::new(address & !(PAGE_SIZE - 1), Rights::READ, 0, shown)])?;
        Ok(())
    };
    sample_results(100, round)
}

/// A user that makes system calls: out of it, and into it again.
pub fn user_event(fixture: &Fixture) -> Result<u64, Errno> {
    let scene = Scene::new(fixture, &[CALL_ON_AND_ON], POOL)?;
    let frame = scene.frame;
    frame.set(word::KIND, kind::USER);
    frame.set(word::RIP, CODE);
    frame.enter()?;
    if (frame.get(word::EVENT), frame.get(word::EXIT)) != (event::EXIT, EXIT_CALL) {
        return Err(Errno::EIO);
    }
    sample_results(200, || frame.enter())
}
