import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { capture, must } from './process.mjs';

/** The ordinary user of a chroot. */
const USER = 'builder';
const HOME = `/home/${USER}`;
/** Certificates that this machine's network needs in addition, if it has some, and where they are in a chroot. */
const OWN_CERTIFICATES = process.env.NODE_EXTRA_CA_CERTS;
const CERTIFICATES = '/etc/own-certificates.pem';
/** Mounts what programs expect, for this process and its children only, and goes in. */
const ENTER = `
set -e
root="$1" user="$2" folder="$3"
shift 3
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
exec chroot --userspec="$user" "$root" bash -c 'cd "$0" && exec "$@"' "$folder" "$@"
`;

/**
 * A fresh Debian in a folder, with an ordinary user. Needs root and debootstrap.
 *
 * @param {string} root
 * @param {string} suite Such as "bookworm".
 * @param {readonly string[]} packages Installed in addition to the smallest system.
 */
export function makeChroot(root, suite, packages) {
  must('debootstrap', ['--variant=minbase', `--include=${packages.join(',')}`, suite, root]);
  copyFileSync('/etc/resolv.conf', path.join(root, 'etc/resolv.conf'));
  if (OWN_CERTIFICATES !== undefined) copyFileSync(OWN_CERTIFICATES, path.join(root, CERTIFICATES));
  must('chroot', [root, 'useradd', '--create-home', '--shell', '/bin/bash', USER]);
  if (packages.includes('sudo')) {
    const rule = path.join(root, 'etc/sudoers.d', USER);
    writeFileSync(rule, `${USER} ALL=(ALL) NOPASSWD: ALL\n`);
    chmodSync(rule, 0o440);
  }
}

/**
 * Puts Node and npm into /usr/local of a chroot. Both come from npm.
 *
 * @param {string} root
 * @param {number} major
 * @param {string} scratch Folder for the download.
 * @returns {string} Its version.
 */
export function installNode(root, major, scratch) {
  const folder = path.join(scratch, `node-${major}`);
  mkdirSync(folder, { recursive: true });
  const node = `node-linux-${process.arch}`;
  const npm = major >= 24 ? 11 : 10;
  must('npm', ['install', '--prefix', folder, '--no-save', `${node}@${major}`, `npm@${npm}`]);
  const local = path.join(root, 'usr/local');
  copyFileSync(path.join(folder, 'node_modules', node, 'bin/node'), path.join(local, 'bin/node'));
  cpSync(path.join(folder, 'node_modules/npm'), path.join(local, 'lib/node_modules/npm'), {
    recursive: true,
  });
  for (const name of ['npm', 'npx']) {
    rmSync(path.join(local, 'bin', name), { force: true });
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, path.join(local, 'bin', name));
  }
  return must('chroot', [root, 'node', '--version']).trim();
}

/**
 * Runs a command in a chroot as its ordinary user, with nothing of this process's environment.
 *
 * @param {string} root
 * @param {string} folder Inside the chroot.
 * @param {readonly string[]} command
 * @param {Record<string, string>} [variables]
 * @returns {{ status: number, stdout: string, stderr: string }}
 */
export function runInChroot(root, folder, command, variables = {}) {
  const environment = {
    HOME,
    USER,
    LANG: 'C.UTF-8',
    PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
    ...(OWN_CERTIFICATES !== undefined && { NODE_EXTRA_CA_CERTS: CERTIFICATES }),
    ...variables,
  };
  const assignments = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  return capture('unshare', [
    ...['--mount', '--pid', '--fork', '--kill-child', 'bash', '-c', ENTER, 'enter'],
    ...[root, `${USER}:${USER}`, folder, 'env', '-i', ...assignments, ...command],
  ]);
}

/**
 * Gives files of a chroot to its ordinary user.
 *
 * @param {string} root
 * @param {string} folder Inside the chroot.
 */
export function giveToUser(root, folder) {
  must('chroot', [root, 'chown', '--recursive', `${USER}:${USER}`, folder]);
}

/** @param {string} root A chroot in which nothing runs any more. */
export function removeChroot(root) {
  // What is mounted there belongs to this machine.
  if (readdirSync(path.join(root, 'proc')).length > 0)
    throw new Error(`${root}/proc is mounted: ${root} was not removed`);
  rmSync(root, { recursive: true, force: true });
}
