//! Disks, partitions and filesystems.

use super::facts::places::changes_device;
use super::facts::touch::TOUCHERS;
use super::{Rule, always};
use crate::guard::paths::locate;
use crate::guard::{Category, Verdict};
use crate::guard::{Invocation, World};

pub const RULES: &[Rule] = &[
    Rule {
        id: "make-filesystem",
        category: Category::Disks,
        verdict: Verdict::Block,
        patterns: &[
            "mkswap|wipefs|blkdiscard|sgdisk|gdisk|cgdisk|cfdisk|partx",
            "fdisk|sfdisk !-l|--list|-d|--dump|-s",
            "parted|gparted !print|-l|--list",
        ],
        when: always,
        why: "overwrites a disk or its partition table",
        instead: "leave disks to the user",
        catches: "wipefs -a /dev/sdb",
        passes: "fdisk -l",
    },
    Rule {
        id: "format-disk",
        category: Category::Disks,
        verdict: Verdict::Block,
        patterns: &["mkfs|mkfs.*|mke2fs|mkdosfs|mkntfs|newfs|newfs_*"],
        when: formats_elsewhere,
        why: "overwrites everything on a disk",
        instead: "make the filesystem in a file of the workspace",
        catches: "mkfs.ext4 /dev/sdb1",
        passes: "mkfs.ext4 -q -F /tmp/disk.img",
    },
    Rule {
        id: "write-device",
        category: Category::Disks,
        verdict: Verdict::Block,
        patterns: TOUCHERS,
        when: changes_device,
        why: "writes to a device",
        instead: "write to a file in the workspace",
        catches: "dd if=image.iso of=/dev/sda bs=4M",
        passes: "dd if=/dev/zero of=build/blank.img bs=1M count=10",
    },
    Rule {
        id: "volume-remove",
        category: Category::Disks,
        verdict: Verdict::Block,
        patterns: &[
            "lvremove|vgremove|pvremove|lvreduce|vgreduce|lvresize|vgcfgrestore",
            "zpool destroy|labelclear|remove|detach|offline",
            "zfs destroy|rollback",
            "btrfs subvolume|device|filesystem delete|remove|del|resize",
            "cryptsetup luksFormat|luksErase|erase|luksRemoveKey|luksKillSlot|reencrypt",
            "mdadm --zero-superblock|--stop|--remove|--fail|-S",
            "dmsetup remove|remove_all|wipe_table",
        ],
        when: always,
        why: "removes a volume with its data",
        instead: "leave volumes to the user",
        catches: "zpool destroy tank",
        passes: "zpool list",
    },
    Rule {
        id: "erase-disk",
        category: Category::Disks,
        verdict: Verdict::Block,
        patterns: &[
            "diskutil erase*|reformat|partitionDisk|secureErase|zeroDisk|randomDisk",
            "diskutil apfs delete*|erase*",
            "nvme format|sanitize|write-zeroes",
            "hdparm ~--security-erase*|--trim-sector-ranges|--write-sector|--make-bad-sector|-y|-Y",
            "badblocks -w",
            "debugfs -w",
            "sg_format|sg_sanitize",
        ],
        when: always,
        why: "erases a disk",
        instead: "leave disks to the user",
        catches: "nvme format /dev/nvme0n1",
        passes: "nvme list",
    },
    Rule {
        id: "repair-filesystem",
        category: Category::Disks,
        verdict: Verdict::Block,
        patterns: &[
            "tune2fs !-l",
            "resize2fs|xfs_growfs|xfs_repair|e2fsck|fsck|fsck.*|ntfsfix|e2label|xfs_admin",
        ],
        when: always,
        why: "changes a filesystem that may be in use",
        instead: "leave filesystems to the user",
        catches: "tune2fs -O ^has_journal /dev/sda1",
        passes: "tune2fs -l /dev/sda1",
    },
    Rule {
        id: "mount",
        category: Category::Disks,
        verdict: Verdict::Block,
        patterns: &["mount|umount|losetup|swapoff|swapon|fusermount|fusermount3|pivot_root|sshfs"],
        when: mounts,
        why: "changes what is mounted",
        instead: "ask the user to mount it",
        catches: "umount /mnt/data",
        passes: "mount",
    },
];

/// Without operands, mounts are only listed.
fn mounts(invocation: &Invocation, _: &World<'_>) -> bool {
    !invocation.operands().is_empty() || invocation.has_any_flag(&["-a", "--all", "-D", "-d"])
}

/// A filesystem in a file of the workspace is only a file.
fn formats_elsewhere(invocation: &Invocation, world: &World<'_>) -> bool {
    let target = invocation.operands().last().copied().cloned();
    target.is_none_or(|target| !locate(&target, invocation, world).zone.is_ours())
}
