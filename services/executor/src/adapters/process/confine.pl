# Runs one command apart from its executor. Node.js cannot make these system calls, and util-linux knows only some of
# them. Perl is part of Debian and Ubuntu, and git needs it elsewhere. No module is loaded: it starts in 2 ms.
#
#   perl confine.pl key=value... -- command argument...
#
# Descriptor 3 is the gate: the command begins after its first line, and with a process namespace everything ends when
# it closes. Descriptor 4 reports `init <pid>`, then `started`; any other line says why the command did not begin.
# `launch.ts` writes the keys and explains them.
use strict;

my %given;
while (@ARGV) {
  my $word = shift @ARGV;
  last if $word eq '--';
  my ($key, $value) = split /=/, $word, 2;
  push @{ $given{$key} }, $value;
}
sub all { return @{ $given{ $_[0] } || [] } }
sub one { my ($value) = all($_[0]); return $value }
sub number { return (one($_[0]) || 0) + 0 }

open(my $gate, '<&=', 3) or exit 125;
open(my $report, '>>&=', 4) or exit 125;
sub say_to_executor { syswrite($report, "$_[0]\n") }
sub fail { say_to_executor("$_[0]: $!"); exit 125 }

my %number = one('arch') eq 'arm64'
  ? (unshare => 97, mount => 40, prctl => 167, capset => 91, setgroups => 159, setresgid => 149, setresuid => 147,
     setrlimit => 164, socket => 198, audit => 0xC00000B7)
  : (unshare => 272, mount => 165, prctl => 157, capset => 126, setgroups => 116, setresgid => 119, setresuid => 117,
     setrlimit => 160, socket => 41, audit => 0xC000003E);
# The same on all architectures.
%number = (%number, open_tree => 428, move_mount => 429, openat2 => 437, mount_setattr => 442,
  landlock_create_ruleset => 444, landlock_add_rule => 445, landlock_restrict_self => 446);
sub call { my ($name, @values) = @_; return syscall($number{$name}, @values) }

my ($NOSUID, $NODEV, $NOEXEC, $BIND, $REC, $PRIVATE) = (2, 4, 8, 4096, 16384, 1 << 18);
my ($AT_FDCWD, $AT_RECURSIVE, $AT_EMPTY_PATH) = (-100, 0x8000, 0x1000);
my ($ATTR_RDONLY, $ATTR_NOSUID, $ATTR_IDMAP) = (1, 2, 0x100000);
sub mount { my ($what, $where, $type, $flags, $data) = @_; return call('mount', $what, $where, $type, $flags, $data) == 0 }
sub set_mount { my ($fd, $path, $flags, $set, $clear, $users) = @_;
  my $attributes = pack('Q4', $set, $clear, 0, $users);
  return call('mount_setattr', $fd, $path, $flags, $attributes, 32) == 0 }

# A path is followed through no link: another command could have put one there.
sub locate {
  my ($path) = @_;
  my $how = pack('Q3', 0x200000 | 0x80000, 0, 4);
  my $descriptor = call('openat2', $AT_FDCWD, $path, $how, 24);
  return undef if $descriptor < 0;
  open(my $place, '<&=', $descriptor) or return undef;
  return $place;
}

my ($uid, $gid) = ($<, $( + 0);
my $apart = number('ns');
my $work_uid = defined one('uid') ? number('uid') : $uid;

# Shows the files of one user as those of another: the executor's worktree as that of the work user.
sub user_map {
  my ($from, $to) = @_;
  pipe(my $ready, my $tell) or fail('pipe');
  my $child = fork();
  fail('fork') unless defined $child;
  if ($child == 0) {
    close $ready;
    exit 1 if call('unshare', 0x10000000) != 0;
    syswrite($tell, '.');
    sleep 60;
    exit 0;
  }
  close $tell;
  sysread($ready, my $byte, 1) or fail('user namespace of the files');
  my ($low, $high) = $from < $to ? ($from, $to) : ($to, $from);
  my @lines = ("$low $high 1", "$high $low 1");
  push @lines, '0 0 ' . $low if $low > 0;
  push @lines, ($low + 1) . ' ' . ($low + 1) . ' ' . ($high - $low - 1) if $high - $low > 1;
  push @lines, ($high + 1) . ' ' . ($high + 1) . ' ' . (4294967294 - $high);
  for my $name ('uid_map', 'gid_map') {
    open(my $map, '>', "/proc/$child/$name") or fail($name);
    my $text = join("\n", @lines) . "\n";
    syswrite($map, $text) == length $text or fail($name);
    close $map;
  }
  open(my $namespace, '<', "/proc/$child/ns/user") or fail('user namespace of the files');
  kill 'KILL', $child;
  waitpid $child, 0;
  return $namespace;
}

my $users;
sub make_parents {
  my ($path, $is_folder) = @_;
  my $so_far = '';
  my @parts = grep { $_ ne '' } split m{/}, $path;
  my $last = pop @parts;
  for my $part (@parts) { $so_far .= "/$part"; mkdir $so_far, 0755 unless -e $so_far }
  return if -e $path;
  if ($is_folder) { mkdir $path, 0755 } else { open(my $file, '>', $path); close $file if $file }
}

my @device_names = qw(null zero full random urandom tty);

sub depth { my $count = () = $_[0] =~ m{/}g; return $_[0] eq '/' ? 0 : $count }

# The home folder is seen as it is, and changes to it are dropped at the end. The layer with the changes lies on a
# temporary folder, where it is covered later.
sub keep_home {
  my ($home) = @_;
  return () unless defined $home && -d $home;
  my $layer = $home =~ m{^/tmp(/|$)} ? '/dev/shm' : '/tmp';
  mount('tmpfs', $layer, 'tmpfs', $NOSUID | $NODEV, 'mode=700') or fail('layer of the home folder');
  mkdir $_, 0700 for "$layer/upper", "$layer/work";
  # The folder with the changes lends its owner and mode to the home folder.
  my @state = stat($home);
  chown $state[4], $state[5], "$layer/upper" or fail("owner of $home") if $state[4] != $uid;
  chmod $state[2] & 07777, "$layer/upper";
  my $layers = "lowerdir=$home,upperdir=$layer/upper,workdir=$layer/work,userxattr";
  mount('overlay', $home, 'overlay', $NOSUID | $NODEV, $layers) or fail("changes of $home");
  return ($home);
}

sub set_up_mounts {
  mount(0, '/', 0, $REC | $PRIVATE, 0) or fail('private mounts');
  # Taken before the rest becomes read-only and before anything covers them.
  my @trees;
  for my $kind ('write', 'show', 'home') {
    my @paths = $kind eq 'home' ? keep_home(one('home')) : all($kind);
    for my $path (@paths) {
      my $place = locate($path);
      if (!defined $place) { next if $kind eq 'show'; fail("open $path") }
      my $tree = call('open_tree', fileno $place, '', 1 | 0x80000 | $AT_RECURSIVE | $AT_EMPTY_PATH);
      fail("open $path") if $tree < 0;
      my @state = stat('/proc/self/fd/' . fileno $place);
      if ($kind ne 'home' && $work_uid != $uid && $state[4] == $uid) {
        set_mount($tree, '', $AT_EMPTY_PATH, $ATTR_IDMAP, 0, fileno $users) or fail("id-mapped mount of $path");
      }
      push @trees, { path => $path, tree => $tree, kind => $kind, folder => -d _ };
    }
  }
  my %devices = $work_uid == 0
    ? map { $_ => call('open_tree', $AT_FDCWD, "/dev/$_", 1 | 0x80000) } @device_names : ();
  set_mount($AT_FDCWD, '/', $AT_RECURSIVE, $ATTR_RDONLY | $ATTR_NOSUID, 0, 0) or fail('read-only file system');

  my @steps = map { { path => $_->{path}, rank => 2, %$_ } } @trees;
  push @steps, { path => $_, rank => 1, kind => 'hide' } for all('hide');
  push @steps, { path => $_, rank => 0, kind => 'tmp' } for grep { -d $_ } '/tmp', '/var/tmp', '/dev/shm';
  my @covers;
  for my $step (sort { depth($a->{path}) <=> depth($b->{path}) || $a->{rank} <=> $b->{rank} } @steps) {
    my ($path, $kind) = ($step->{path}, $step->{kind});
    if ($kind eq 'tmp') {
      mount('tmpfs', $path, 'tmpfs', $NOSUID | $NODEV, 'mode=1777') or fail("private $path");
    } elsif ($kind eq 'hide') {
      next unless -e $path;
      if (-d _) {
        mount('tmpfs', $path, 'tmpfs', $NOSUID | $NODEV, 'mode=755,size=256k') or fail("hide $path");
        push @covers, $path;
      } else {
        mount('/dev/null', $path, 0, $BIND, 0) or fail("hide $path");
      }
    } else {
      make_parents($path, $step->{folder});
      call('move_mount', $step->{tree}, '', $AT_FDCWD, $path, 4) == 0 or fail("show $path");
      set_mount($AT_FDCWD, $path, $AT_RECURSIVE, $ATTR_NOSUID | ($kind eq 'show' ? $ATTR_RDONLY : 0), 0, 0)
        or fail("rights of $path");
    }
  }
  set_mount($AT_FDCWD, $_, 0, $ATTR_RDONLY, 0, 0) for @covers;
  return unless $work_uid == 0;
  # Without them root could read disks, even without capabilities.
  mount('tmpfs', '/dev', 'tmpfs', $NOSUID, 'mode=755,size=64k') or fail('private /dev');
  for my $name (@device_names) {
    next if $devices{$name} < 0;
    make_parents("/dev/$name", 0);
    call('move_mount', $devices{$name}, '', $AT_FDCWD, "/dev/$name", 4) == 0 or fail("/dev/$name");
  }
  mkdir "/dev/$_", 0755 for 'pts', 'shm';
  mount('devpts', '/dev/pts', 'devpts', $NOSUID | $NOEXEC, 'newinstance,ptmxmode=0666,mode=620') or fail('/dev/pts');
  symlink 'pts/ptmx', '/dev/ptmx';
  mount('tmpfs', '/dev/shm', 'tmpfs', $NOSUID | $NODEV, 'mode=1777') or fail('/dev/shm');
  symlink '/proc/self/fd', '/dev/fd';
  symlink "/proc/self/fd/$_->[0]", "/dev/$_->[1]" for [0, 'stdin'], [1, 'stdout'], [2, 'stderr'];
}

# Servers of tests listen on it. It leads nowhere else.
sub raise_loopback {
  socket(my $socket, 2, 2, 0) or return;
  my $request = pack('a16 s x22', 'lo', 1);
  ioctl($socket, 0x8914, $request);
}

sub read_gate {
  my $byte;
  do { sysread($gate, $byte, 1) or exit 125 } while ($byte ne "\n");
}

sub drop_rights {
  call('prctl', 38, 1, 0, 0, 0) == 0 or fail('no_new_privs');
  for my $capability (0 .. 63) { last if call('prctl', 24, $capability, 0, 0, 0) != 0 }
  call('prctl', 47, 4, 0, 0, 0);
  if (defined one('uid')) {
    my @groups = map { $_ + 0 } all('group');
    my $list = pack('L*', @groups);
    call('setgroups', scalar @groups, $list) == 0 or fail('setgroups');
    call('setresgid', number('gid'), number('gid'), number('gid')) == 0 or fail('setresgid');
    call('setresuid', $work_uid, $work_uid, $work_uid) == 0 or fail('setresuid');
  }
  my ($header, $none) = (pack('L2', 0x20080522, 0), pack('L6', 0, 0, 0, 0, 0, 0));
  call('capset', $header, $none) == 0 or fail('capset');
}

my ($READ, $FILE) = (1 | 4 | 8, 1 | 2 | 4 | (1 << 14));
sub allow {
  my ($ruleset, $path, $rights) = @_;
  my $place = locate($path);
  return unless defined $place;
  $rights &= $FILE unless -d '/proc/self/fd/' . fileno $place;
  my $rule = pack('Ql', $rights, fileno $place);
  call('landlock_add_rule', fileno $ruleset, 1, $rule, 0) == 0 or fail("rule for $path");
}
sub restrict_files {
  my $abi = number('landlock');
  return if $abi == 0;
  my $write = 2;
  $write |= 1 << $_ for 4 .. ($abi >= 3 ? 14 : $abi == 2 ? 13 : 12);
  # With a mount namespace the rest is covered or read-only already.
  my $handled = $apart ? $write : $write | $READ;
  my $attributes = pack('Q3', $handled, 0, $abi >= 6 ? 3 : 0);
  my $descriptor = call('landlock_create_ruleset', $attributes, $abi >= 6 ? 24 : $abi >= 4 ? 16 : 8, 0);
  fail('landlock') if $descriptor < 0;
  open(my $ruleset, '<&=', $descriptor) or fail('landlock');
  my @own = $apart ? ('/tmp', '/var/tmp', grep { defined $_ } one('home')) : ();
  allow($ruleset, $_, $handled) for all('write'), @own;
  allow($ruleset, $_, $handled & ($READ | 2)) for '/dev', '/proc';
  allow($ruleset, '/dev/shm', $handled) if $apart;
  unless ($apart) {
    allow($ruleset, '/', 8);
    allow($ruleset, $_, $READ) for all('read'), all('show');
  }
  call('landlock_restrict_self', fileno $ruleset, 0) == 0 or fail('landlock');
}

# Without a network namespace: no sockets but those of this machine's file system.
sub refuse_sockets {
  return unless number('seccomp');
  my @program = ([0x20, 0, 0, 4], [0x15, 0, 7, $number{audit}], [0x20, 0, 0, 0], [0x35, 5, 0, 0x40000000],
    [0x15, 4, 0, 425], [0x15, 0, 2, $number{socket}], [0x20, 0, 0, 16], [0x15, 0, 1, 1],
    [0x06, 0, 0, 0x7fff0000], [0x06, 0, 0, 0x00050001]);
  my $filter = join '', map { pack('SCCL', @$_) } @program;
  my $fprog = pack('Sx6P', scalar @program, $filter);
  call('prctl', 22, 2, $fprog, 0, 0) == 0 or fail('seccomp');
}

sub become {
  if ($apart) {
    my $flags = $NOSUID | $NODEV | $NOEXEC | ($work_uid == 0 ? 1 : 0);
    mount('proc', '/proc', 'proc', $flags, 0) or fail('/proc');
  }
  for (all('limit')) {
    my ($resource, $soft, $hard) = map { $_ + 0 } split /:/;
    my $limit = pack('Q2', $soft, $hard);
    call('setrlimit', $resource, $limit) == 0 or fail('limits');
  }
  drop_rights();
  restrict_files();
  chdir one('cwd') or fail('working folder');
  refuse_sockets();
  say_to_executor('started');
  exec { $ARGV[0] } @ARGV or fail("run $ARGV[0]");
}

if ($apart) {
  # Before the namespace of processes: its first process is its init.
  $users = user_map($uid, $work_uid) if $work_uid != $uid;
  my $is_user = number('user');
  my $flags = 0x20000 | 0x08000000 | 0x20000000 | (one('network') eq 'off' ? 0x40000000 : 0);
  call('unshare', $flags | ($is_user ? 0x10000000 : 0)) == 0 or fail('namespaces');
  if ($is_user) {
    for (['setgroups', 'deny'], ['uid_map', "$uid $uid 1"], ['gid_map', "$gid $gid 1"]) {
      my ($name, $text) = @$_;
      open(my $map, '>', "/proc/self/$name") or fail($name);
      syswrite($map, $text) or fail($name);
      close $map;
    }
  }
  raise_loopback() if one('network') eq 'off';
  set_up_mounts();
}
read_gate();
become() unless $apart;

# It ends when the executor does, and the kernel then ends everything in the namespace. It also reaps orphans. The
# command is not the init itself, because an init ignores the signals that it does not handle.
my $init = fork();
fail('fork') unless defined $init;
if ($init == 0) {
  $SIG{CHLD} = 'IGNORE';
  close $_ for *STDIN, *STDOUT, *STDERR, $report;
  my ($header, $none) = (pack('L2', 0x20080522, 0), pack('L6', 0, 0, 0, 0, 0, 0));
  call('capset', $header, $none);
  1 while sysread($gate, my $ignored, 64);
  exit 0;
}
say_to_executor("init $init");
my $command = fork();
fail('fork') unless defined $command;
become() if $command == 0;
$SIG{$_} = 'IGNORE' for qw(TERM INT HUP QUIT);
close $_ for *STDIN, *STDOUT, *STDERR, $report;
waitpid $command, 0;
my $signal = $? & 127;
exit($? >> 8) if $signal == 0;
# It ends as the command did.
my $no_core = pack('Q2', 0, 0);
call('setrlimit', 4, $no_core);
$SIG{$_} = 'DEFAULT' for keys %SIG;
kill $signal, $$;
sleep 1;
exit 128 + $signal;
