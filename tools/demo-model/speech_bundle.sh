#!/bin/sh
# Creates a folder with synthesisers that run on an x86-64 machine without packages. espeak-ng: the program, its library, English voices
# and variants, libsonic, and a stub for libpcaudio (only needed to play sound, which nothing here does). With --all also flite (flite/)
# and festival (festival/), which have to be installed:
#
#   apt-get install flite festival festlex-cmu festlex-poslex festvox-kallpc16k festvox-kdlpc16k festvox-us-slt-hts
#   sh speech_bundle.sh OUT_DIR [--all]      on Debian or Ubuntu, with apt, dpkg and a C compiler
set -eu

out=$1
packages="espeak-ng libespeak-ng1 espeak-ng-data libsonic0"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"

(cd "$scratch" && apt-get -qq download $packages)
for package in "$scratch"/*.deb; do
  dpkg -x "$package" "$scratch/root"
done

libraries=$(dirname "$(find "$scratch/root" -name 'libespeak-ng.so.1')")
data=$(find "$scratch/root/usr/lib" "$scratch/root/usr/share" -type d -name espeak-ng-data -not -path '*/doc/*')
rm -rf "$out"
mkdir -p "$out/espeak-ng-data/lang"
cp "$scratch/root/usr/bin/espeak-ng" "$out/"
cp -L "$libraries/libespeak-ng.so.1" "$libraries/libsonic.so.0" "$out/"
cp "$data"/phondata "$data"/phonindex "$data"/phontab "$data"/intonations "$data"/en_dict "$out/espeak-ng-data/"
cp -r "$data/lang/gmw" "$out/espeak-ng-data/lang/"
find "$out/espeak-ng-data/lang/gmw" -type f -not -name 'en*' -delete
cp -r "$data/voices" "$out/espeak-ng-data/"
find "$out/espeak-ng-data/voices" -mindepth 1 -maxdepth 1 -not -name '!v' -exec rm -rf {} +
mkdir "$out/licences"
for package in $packages; do
  cp "$scratch/root/usr/share/doc/$package/copyright" "$out/licences/$package"
done

cat >"$scratch/stub.c" <<'STUB'
void *create_audio_device_object(const char *a, const char *b, const char *c) { return (void *)0; }
int audio_object_open(void *o, int format, unsigned rate, unsigned char channels) { return -1; }
int audio_object_write(void *o, const void *data, unsigned long size) { return -1; }
int audio_object_drain(void *o) { return 0; }
int audio_object_flush(void *o) { return 0; }
void audio_object_close(void *o) {}
void audio_object_destroy(void *o) {}
const char *audio_object_strerror(void *o, int error) { return "no sound output"; }
STUB
cc -shared -fPIC -O1 -Wno-unused-parameter -Wl,-soname,libpcaudio.so.0 -o "$out/libpcaudio.so.0" "$scratch/stub.c"

LD_LIBRARY_PATH="$out" "$out/espeak-ng" --path="$out" -v en-us+f3 --stdout "three red apples" | wc -c

if [ "${2:-}" = --all ]; then
  system=$(dirname "$(ldconfig -p | awk '/libflite\.so\.1/ { print $NF; exit }')")
  mkdir "$out/flite" "$out/festival" "$out/festival/data"
  for name in libflite libflite_usenglish libflite_cmulex libflite_cmu_us_slt libflite_cmu_us_awb libflite_cmu_us_kal libflite_cmu_us_kal16 libflite_cmu_us_rms; do
    cp -L "$system/$name.so.1" "$out/flite/"
  done
  cp -L "$system/libasound.so.2" "$out/flite/"
  cp "$(command -v festival)" "$out/festival/"
  # All libraries but those that every system has.
  ldd "$out/festival/festival" | awk '$3 ~ /^\// { print $3 }' | grep -Ev '/(libc|libm|libgcc_s|libstdc\+\+)\.so' | xargs -I {} cp -L {} "$out/festival/"
  cp -rL /usr/share/festival/. "$out/festival/data/"
  printf '' >"$out/festival/data/siteinit.scm"
  for package in flite festival festlex-cmu festlex-poslex festvox-kallpc16k festvox-kdlpc16k festvox-us-slt-hts; do
    cp "/usr/share/doc/$package/copyright" "$out/licences/$package"
  done
fi
du -sh "$out"
