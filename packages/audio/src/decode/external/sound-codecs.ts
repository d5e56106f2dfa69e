/** Containers that hold the sound themselves, not playlists and scripts, which refer to further files and addresses. */
export const SOUND_CONTAINERS: readonly string[] = [
  ...'mov matroska avi mpegts mpeg ogg flv asf aac loas ac3 eac3 dts dtshd amr aiff caf wav w64 au flac mp3 wv ape tta'.split(
    ' ',
  ),
  ...'dsf iff mpc mpc8 tak'.split(' '),
];

const PCM =
  'u8 s8 s16le s16be s24le s24be s32le s32be f32le f32be f64le f64be alaw mulaw bluray dvd lxf s16le_planar';

/** Decoders of sound; those of pictures, which are far more code, stay out of reach of untrusted files. */
export const SOUND_DECODERS: readonly string[] = [
  ...'aac aac_fixed aac_latm alac mp1 mp1float mp2 mp2float mp3 mp3float opus libopus vorbis libvorbis flac'.split(
    ' ',
  ),
  ...'ac3 ac3_fixed eac3 dca truehd mlp amrnb amrwb wmav1 wmav2 wmapro wmavoice wmalossless'.split(' '),
  ...'libopencore_amrnb libopencore_amrwb wavpack ape tta tak mpc7 mpc8 gsm gsm_ms speex libspeex g722 g726 g726le'.split(
    ' ',
  ),
  ...'adpcm_ms adpcm_ima_wav adpcm_ima_qt adpcm_yamaha adpcm_swf mace3 mace6 qdm2 qdmc nellymoser ilbc libilbc'.split(
    ' ',
  ),
  ...'dsd_lsbf dsd_msbf dsd_lsbf_planar dsd_msbf_planar'.split(' '),
  ...PCM.split(' ').map((name) => `pcm_${name}`),
];
