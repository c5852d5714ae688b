//! Where the paths lead that an invocation touches.

use super::touch::{Deed, Touch, chmod_mode, touches};
use crate::guard::arg::{ANY_ONE, Arg, BRACKET, STAR};
use crate::guard::paths::{self, Place, Removed, Zone, locate, locate_entry};
use crate::guard::pattern::glob;
use crate::guard::{Invocation, Site, World};
use std::path::PathBuf;

/// Deeds and the places they happen at.
fn touched(invocation: &Invocation, world: &World<'_>) -> Vec<(Deed, Place, Touch)> {
    touches(invocation)
        .into_iter()
        .map(|touch| {
            let place = match removes(touch.deed) && removes_entries(invocation) {
                true => locate_entry(&touch.path, invocation, world),
                false => locate(&touch.path, invocation, world),
            };
            (touch.deed, place, touch)
        })
        .collect()
}

/// Programs that remove a link, and not what it leads to.
fn removes_entries(invocation: &Invocation) -> bool {
    matches!(invocation.name(), "rm" | "rmdir" | "unlink" | "rimraf" | "mv" | "gmv")
}

fn any(invocation: &Invocation, world: &World<'_>, is_meant: impl Fn(Deed, &Place) -> bool) -> bool {
    touched(invocation, world).iter().any(|(deed, place, _)| is_meant(*deed, place))
}

fn removes(deed: Deed) -> bool {
    matches!(deed, Deed::Deletes | Deed::DeletesAll | Deed::MovesAway)
}

fn is_elsewhere(zone: Zone) -> bool {
    matches!(zone, Zone::System | Zone::Home | Zone::Outside)
}

pub fn deletes_outside(invocation: &Invocation, world: &World<'_>) -> bool {
    any(invocation, world, |deed, place| {
        let removed = match deed {
            Deed::DeletesAll => Removed::WithAllBelow,
            Deed::Deletes | Deed::MovesAway => Removed::Alone,
            Deed::Writes | Deed::Creates | Deed::Permits | Deed::PermitsAll => return false,
        };
        is_elsewhere(place.zone)
            || invocation.site == Site::Here && paths::is_persons_own(&place.path, removed, world)
    })
}

/// All of the workspace, and it is not only put into another directory of it.
pub fn deletes_workspace(invocation: &Invocation, world: &World<'_>) -> bool {
    let touched = touched(invocation, world);
    let stays = touched.iter().any(|(deed, place, _)| *deed == Deed::Writes && place.zone == Zone::Workspace);
    touched.iter().any(|(deed, place, _)| match deed {
        Deed::DeletesAll | Deed::Deletes => place.zone == Zone::WholeWorkspace,
        Deed::MovesAway => place.zone == Zone::WholeWorkspace && !stays,
        Deed::Writes | Deed::Creates | Deed::Permits | Deed::PermitsAll => false,
    })
}

/// A recursive deletion at a place that cannot be known.
pub fn deletes_unknown(invocation: &Invocation, world: &World<'_>) -> bool {
    any(invocation, world, |deed, place| deed == Deed::DeletesAll && place.zone == Zone::Unknown)
}

/// Into `/dev/null` and the like, where it is gone.
pub fn moves_into_sink(invocation: &Invocation, world: &World<'_>) -> bool {
    any(invocation, world, |deed, place| deed == Deed::Writes && place.zone == Zone::Sink)
}

/// Files of the user or of others; those that have rules of their own are not meant.
pub fn writes_outside(invocation: &Invocation, world: &World<'_>) -> bool {
    any(invocation, world, |deed, place| {
        deed == Deed::Writes
            && matches!(place.zone, Zone::Home | Zone::Outside)
            && !paths::is_startup(&place.path, world)
            && !paths::is_protected(&place.path, world)
    })
}

pub fn writes_system(invocation: &Invocation, world: &World<'_>) -> bool {
    any(invocation, world, |deed, place| {
        matches!(deed, Deed::Writes | Deed::Creates) && place.zone == Zone::System
    })
}

pub fn changes_device(invocation: &Invocation, world: &World<'_>) -> bool {
    any(invocation, world, |deed, place| {
        let changes = match deed {
            Deed::Deletes | Deed::DeletesAll | Deed::MovesAway | Deed::Writes | Deed::Creates => true,
            Deed::Permits | Deed::PermitsAll => false,
        };
        changes
            && place.zone == Zone::Device
            && !place.path.starts_with("/dev/tcp")
            && !place.path.starts_with("/dev/udp")
    })
}

/// A file that shells, cron, ssh and the like obey later.
pub fn writes_startup(invocation: &Invocation, world: &World<'_>) -> bool {
    any(invocation, world, |deed, place| {
        matches!(deed, Deed::Writes | Deed::Creates) && paths::is_startup(&place.path, world)
    })
}

const PROTECTED: [&str; 5] = [".git", ".claude", ".codex", ".ralph", ".mcp.json"];

/// What decides over agents, hooks and ralph: changed, deleted, or made unusable.
pub fn changes_protected(invocation: &Invocation, world: &World<'_>) -> bool {
    // A directory that is made changes nothing yet.
    if invocation.site != Site::Here || invocation.name() == "mkdir" {
        return false;
    }
    touched(invocation, world).iter().any(|(_, place, touch)| {
        paths::is_protected(&place.path, world)
            || matched_names(&touch.path, place, &PROTECTED)
                .iter()
                .any(|path| paths::is_protected(path, world))
    })
}

/// The paths that a pattern in the last part of an argument would stand for, of these names. As in a shell,
/// a name with a dot is only found by a pattern with a dot.
pub fn matched_names(arg: &Arg, place: &Place, names: &[&str]) -> Vec<PathBuf> {
    let base = arg.base_name();
    let is_pattern = base.contains([STAR, ANY_ONE, BRACKET]);
    // `*` alone stands for anything, and for nothing in particular.
    if !is_pattern || base.trim_matches([STAR, ANY_ONE]).is_empty() {
        return Vec::new();
    }
    // One character, or one of several: near enough to any text here.
    let pattern = base.replace([STAR, ANY_ONE, BRACKET], "*").replace(']', "*");
    let fits = |name: &&&str| {
        name.starts_with('.') == pattern.starts_with('.') && glob(pattern.as_bytes(), name.as_bytes())
    };
    names.iter().filter(fits).map(|name| place.path.with_file_name(name)).collect()
}

/// Permissions of what belongs to the system or to others, or of everything below a place that cannot be known.
pub fn permits_outside(invocation: &Invocation, world: &World<'_>) -> bool {
    let is_attribute = matches!(invocation.name(), "chattr" | "setfacl" | "chown" | "chgrp" | "chflags");
    let opens = opens_to_all(invocation) || closes_to_all(invocation);
    any(invocation, world, |deed, place| match deed {
        Deed::PermitsAll => is_elsewhere(place.zone) || matches!(place.zone, Zone::Unknown | Zone::Device),
        Deed::Permits => {
            matches!(place.zone, Zone::System | Zone::Device)
                || (is_elsewhere(place.zone) && (is_attribute || opens))
        }
        _ => false,
    })
}

/// All of the workspace, with a mode that no file keeps its use under, or that anyone may write to.
pub fn permits_workspace(invocation: &Invocation, world: &World<'_>) -> bool {
    let is_bad = opens_to_all(invocation) || closes_to_all(invocation);
    is_bad
        && any(invocation, world, |deed, place| {
            deed == Deed::PermitsAll && place.zone == Zone::WholeWorkspace
        })
}

/// Whether `chmod` leaves no rights at all.
fn closes_to_all(invocation: &Invocation) -> bool {
    let mode = chmod_mode(invocation).unwrap_or_default();
    invocation.name() == "chmod" && matches!(mode, "000" | "0" | "0000" | "a-rwx" | "a=" | "-rwx" | "ugo-rwx")
}

/// Whether `chmod` lets everyone write.
fn opens_to_all(invocation: &Invocation) -> bool {
    let mode = chmod_mode(invocation).unwrap_or_default();
    let is_octal = !mode.is_empty() && mode.chars().all(|c| c.is_digit(8));
    let by_number = is_octal && mode.ends_with(['2', '3', '6', '7']) && mode.len() >= 3;
    let by_letters = mode.split(',').any(|clause| {
        let (who, what) = clause.split_at(clause.find(['+', '=']).unwrap_or(0));
        !what.is_empty() && what.contains('w') && (who.contains(['o', 'a']))
    });
    invocation.name() == "chmod" && (by_number || by_letters)
}
